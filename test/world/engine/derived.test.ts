// @shares
/**
 * op-node derives blocks of the OP Stack from L1, and its engine builds each from attributes. Here op-geth's blocks are
 * built again from their attributes, through all forks, and have op-geth's hashes. Skipped without these chains.
 */
import { join } from 'node:path'
import t from 'tap'
import { includesFork } from '../../../src/data/chain/forks.js'
import { decodeHeader } from '../../../src/data/chain/header.js'
import { bytesToHex, hexToBytes, toHash32, toQuantity } from '../../../src/primitives/bytes.js'
import { encodeRlp, rlpList } from '../../../src/primitives/rlp.js'
import { type Block, parseBlock } from '../../../src/sources/ingest/blocks/block.js'
import { BlockMaker } from '../../../src/sources/ingest/develop/blockMaker.js'
import { Engine } from '../../../src/sources/ingest/engine/engine.js'
import { callEngine } from '../../../src/sources/ingest/engine/engineMethods.js'
import { openOptimism, optimismBlocks, optimismGenesis, skipsOptimism } from '../../ingest/optimismChain.js'
import { makeFolder } from '../../library/folder.js'

const zero = `0x${'00'.repeat(32)}`

/** The attributes that lead to a block, as op-node writes them. */
function attributesOf({ header, items }: Block): Record<string, unknown> {
  const { extraData, parentBeaconBlockRoot, withdrawalsRoot } = header
  const transactions = rlpList(items[1]).map((item) =>
    bytesToHex(item instanceof Uint8Array ? item : encodeRlp(item)),
  )
  return {
    timestamp: toQuantity(header.timestamp),
    prevRandao: bytesToHex(header.mixHash),
    suggestedFeeRecipient: bytesToHex(header.miner),
    transactions,
    noTxPool: true,
    gasLimit: toQuantity(header.gasLimit),
    ...(withdrawalsRoot && { withdrawals: [] }),
    ...(parentBeaconBlockRoot && { parentBeaconBlockRoot: bytesToHex(parentBeaconBlockRoot) }),
    ...(extraData.length >= 9 && { eip1559Params: bytesToHex(extraData.subarray(1, 9)) }),
    ...(extraData.length === 17 && {
      minBaseFee: Number(`0x${Buffer.from(extraData.subarray(9)).toString('hex')}`),
    }),
  }
}

for (const name of ['a', 'karst-approx']) {
  t.test(`each block of chain ${name} is built from its attributes`, { skip: skipsOptimism }, async (t) => {
    const opened = openOptimism(join(makeFolder(t), 'store'), optimismGenesis(name))
    const { store, schedule, importer } = opened
    t.teardown(() => store.close())
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
    const call = async (method: string, params: readonly unknown[]) =>
      JSON.parse(JSON.stringify(await callEngine({ engine, store, schedule, maker }, method, params)))
    const forks = new Set<string>()
    for (const { number, block, rlp } of optimismBlocks(name).slice(1)) {
      const parsed = parseBlock(hexToBytes(rlp))
      const fork = schedule.forkOf(parsed.header)
      const has = (other: Parameters<typeof includesFork>[1]) => includesFork(fork, other)
      forks.add(fork)
      const chosen = has('ecotone') ? 3 : has('canyon') ? 2 : 1
      const got = has('karst') ? 5 : has('isthmus') ? 4 : has('ecotone') ? 3 : 2
      const given = has('isthmus') ? 4 : has('ecotone') ? 3 : 2
      const state = {
        headBlockHash: bytesToHex(parsed.header.parentHash),
        safeBlockHash: bytesToHex(parsed.header.parentHash),
        finalizedBlockHash: zero,
      }
      const { result, error } = await call(`engine_forkchoiceUpdatedV${chosen}`, [
        state,
        attributesOf(parsed),
      ])
      t.equal(error, undefined, `block ${number} of ${fork}: ${JSON.stringify(error)}`)
      const built = await call(`engine_getPayloadV${got}`, [result?.payloadId])
      const { executionPayload } = built.result ?? {}
      t.equal(
        executionPayload?.blockHash,
        block.hash,
        `block ${number} of ${fork}: ${JSON.stringify(built.error)}`,
      )
      const root = parsed.header.parentBeaconBlockRoot
      const more = [[], root && bytesToHex(root), []].slice(0, given === 2 ? 0 : given - 1)
      const status = await call(`engine_newPayloadV${given}`, [executionPayload, ...more])
      t.match(status, { result: { status: 'VALID', latestValidHash: block.hash } })
      const head = { ...state, headBlockHash: block.hash }
      t.match(await call('engine_forkchoiceUpdatedV3', [head]), {
        result: { payloadStatus: { status: 'VALID' } },
      })
      t.ok(store.hasHeader(toHash32(hexToBytes(block.hash))))
    }
    t.equal(bytesToHex(store.head.hash), optimismBlocks(name).at(-1)?.block.hash)
    t.equal(
      decodeHeader(store.readHeader(store.head.hash) as Uint8Array).number,
      optimismBlocks(name).length - 1,
    )
    t.ok(forks.size >= 3, [...forks].join(', '))
    t.strictSame(said, [])
  })
}
