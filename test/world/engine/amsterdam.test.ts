// @shares
/**
 * Payloads of Amsterdam, which the recordings of a consensus client lack. Each block of go-ethereum's chains is sent
 * with its access list and requests, and one is built on the last. Skipped without the chains.
 */
import t from 'tap'
import { type ForkName, includesFork } from '../../../src/data/chain/forks.js'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.js'
import {
  decodeRlpList,
  encodeRlpListOfEncoded,
  type RlpItem,
  rlpList,
  rlpListSpans,
  rlpSpanAt,
} from '../../../src/primitives/rlp.js'
import { parseBlock } from '../../../src/sources/ingest/blocks/block.js'
import { readChainFile } from '../../../src/sources/ingest/blocks/chainFile.js'
import { ChainImporter } from '../../../src/sources/ingest/blocks/importer.js'
import { BlockMaker } from '../../../src/sources/ingest/develop/blockMaker.js'
import { Engine } from '../../../src/sources/ingest/engine/engine.js'
import { callEngine } from '../../../src/sources/ingest/engine/engineMethods.js'
import { payloadJson } from '../../../src/sources/ingest/engine/payload.js'
import {
  amsterdamChains,
  amsterdamFile,
  readAmsterdamBlocks,
  withoutAmsterdam,
} from '../../ingest/amsterdam.js'
import { newAmsterdamStore } from '../../ingest/amsterdamStore.js'

const zero = `0x${'00'.repeat(32)}`
const blobType = 3
const blobHashesPlace = 10

function blobHashesOf(transactions: readonly RlpItem[]): string[] {
  return transactions.flatMap((item) => {
    if (!(item instanceof Uint8Array) || item[0] !== blobType) return []
    return rlpList(decodeRlpList(item.subarray(1))[blobHashesPlace]).map((hash) =>
      bytesToHex(hash as Uint8Array),
    )
  })
}

for (const chain of amsterdamChains) {
  t.test(
    `each block of ${chain} is valid as a payload with its list`,
    { skip: withoutAmsterdam },
    async (t) => {
      const { store, schedule } = newAmsterdamStore(t, chain)
      const importer = new ChainImporter(store, schedule)
      const said: string[] = []
      const say = (text: string) => said.push(text)
      const maker = new BlockMaker(store, schedule, say)
      const engine = new Engine({
        store,
        schedule,
        importer,
        maker,
        events: { onChoice: async () => undefined, say },
      })
      const call = async (method: string, ...params: readonly unknown[]) =>
        JSON.parse(JSON.stringify(await callEngine({ engine, store, schedule, maker }, method, params)))
      const known = new Map(readAmsterdamBlocks(chain).map((block) => [Number(block.number), block]))
      const versionAt = (fork: ForkName) => (includesFork(fork, 'amsterdam') ? 5 : 4)
      let listed = 0
      let last: Record<string, unknown> = {}
      for await (const { rlp } of readChainFile(amsterdamFile(chain, 'chain-with-bal.rlp.gz'))) {
        const { header, items, blockAccessList, hash } = parseBlock(rlp)
        if (header.number === 0) continue
        const fork = schedule.forkOf(header)
        const version = versionAt(fork)
        const parts = rlpListSpans(rlp, rlpSpanAt(rlp, 0)).map(({ start, end }) => rlp.subarray(start, end))
        const body = encodeRlpListOfEncoded(parts.slice(1, 4))
        const payload = payloadJson(
          parts[0] as Uint8Array,
          body,
          fork,
          version === 5 ? blockAccessList : undefined,
        )
        const more = [
          blobHashesOf(rlpList(items[1])),
          bytesToHex(header.parentBeaconBlockRoot as Uint8Array),
          known.get(header.number)?.requests ?? [],
        ]
        const give = (given: Record<string, unknown>) => call(`engine_newPayloadV${version}`, given, ...more)
        if (version === 5) {
          listed++
          const { blockAccessList: list, ...rest } = payload
          t.equal((await give(rest)).error?.code, -32602, 'a list is required')
          t.equal(
            (await give({ ...payload, blockAccessList: `${list}00` })).result?.status,
            'INVALID',
            'another list',
          )
          t.equal((await call('engine_newPayloadV4', rest, ...more)).error?.code, -32602)
        }
        t.match(await give(payload), { result: { status: 'VALID' } }, `block ${header.number} of ${fork}`)
        const state = { headBlockHash: bytesToHex(hash), safeBlockHash: zero, finalizedBlockHash: zero }
        const chosen = await call('engine_forkchoiceUpdatedV4', state, null, `0x${'ff'.repeat(16)}`)
        t.equal(chosen.result?.payloadStatus.status, 'VALID')
        last = payload
        if (version < 5) continue
        const [stored] = (await call('engine_getPayloadBodiesByHashV2', [bytesToHex(hash)])).result
        t.strictSame(stored.blockAccessList, payload.blockAccessList, 'its list is kept')
      }
      t.ok(listed > 0, `${listed} blocks of Amsterdam`)
      t.equal(bytesToHex(store.head.hash), last.blockHash)

      const gasLimit = BigInt(last.gasLimit as string)
      const attributes = {
        timestamp: `0x${(BigInt(last.timestamp as string) + 12n).toString(16)}`,
        prevRandao: zero,
        suggestedFeeRecipient: `0x${'fe'.repeat(20)}`,
        withdrawals: [],
        parentBeaconBlockRoot: zero,
        slotNumber: '0x777',
        targetGasLimit: `0x${(gasLimit + 7n).toString(16)}`,
      }
      const state = { headBlockHash: last.blockHash, safeBlockHash: zero, finalizedBlockHash: zero }
      const { slotNumber: _, ...withoutSlot } = attributes
      t.equal((await call('engine_forkchoiceUpdatedV4', state, withoutSlot)).error?.code, -38003)
      t.equal((await call('engine_forkchoiceUpdatedV3', state, withoutSlot)).error?.code, -38005)
      const { result } = await call('engine_forkchoiceUpdatedV4', state, attributes)
      t.equal((await call('engine_getPayloadV5', result.payloadId)).error?.code, -38005)
      const built = (await call('engine_getPayloadV6', result.payloadId)).result
      t.match(built.executionPayload, {
        slotNumber: '0x777',
        gasLimit: attributes.targetGasLimit,
        blockAccessList: /^0x/,
      })
      t.ok(hexToBytes(built.executionPayload.blockAccessList).length > 0)
      const own = await call('engine_newPayloadV5', built.executionPayload, [], zero, built.executionRequests)
      t.match(own, { result: { status: 'VALID', latestValidHash: built.executionPayload.blockHash } })
    },
  )
}
