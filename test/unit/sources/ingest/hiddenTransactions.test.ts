// @alone it measures its process, or closes what others share
/** A node reports a transaction in a block that it invented. The transaction is found in its real block. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ForkSchedule } from '../../../../src/data/chain/forks.js'
import type { ChainIdentity } from '../../../../src/data/store/chainRows.js'
import { type CanonicalHeader, GatewayWriter } from '../../../../src/data/store/gatewayWriter.js'
import { bytesToHex, type Hash32, hexToBytes } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { decodeRlpList, encodeRlp, type RlpItem, rlpList } from '../../../../src/primitives/rlp.js'
import { ProofFetcher } from '../../../../src/sources/ingest/gateway/proofFetcher.js'
import { blocks } from '../../../rpc/demoChain.js'
import { demoStore } from '../../execution/evm/demoExecution.js'
import { LiarFirst } from './liarFirst.js'

const mined = blocks
  .slice(0, -8)
  .findLast(({ transactions }) => transactions.length > 0) as (typeof blocks)[number]
const wanted = mined.transactions[0]?.hash as string

/** The block with another header member; its transactions and other parts still match the header. */
function madeUp(index: number, value: RlpItem) {
  const [header, ...body] = storedParts(mined.hash)
  const items = [...rlpList(header)]
  items[index] = value
  return { hash: bytesToHex(keccak256(encodeRlp(items))), rlp: bytesToHex(encodeRlp([items, ...body])) }
}

function storedParts(text: string): RlpItem[] {
  const hash = hexToBytes(text) as Hash32
  const [header, body] = [demoStore.readHeader(hash), demoStore.readBody(hash)] as [Uint8Array, Uint8Array]
  return [decodeRlpList(header), ...decodeRlpList(body)]
}

/** A gateway's store that has these headers of the chain. */
function openStore(t: Test, from: number): GatewayWriter {
  const store = GatewayWriter.open({ path: join(t.testdir(), 'chain.mdb'), mapBytes: 2 ** 28 })
  t.teardown(() => store.close())
  store.begin(demoStore.readIdentity() as ChainIdentity)
  const headers = blocks.slice(from).map(({ hash: text, number }): CanonicalHeader => {
    const hash = hexToBytes(text) as Hash32
    const header = Uint8Array.from(demoStore.readHeader(hash) as Uint8Array)
    return { number, hash, header, totalDifficulty: undefined }
  })
  store.advance(-1, headers, true)
  return store
}

const number = 8
const extraData = 12
const next = blocks.indexOf(mined) + 1

for (const [what, made, from] of [
  ['beside its block', madeUp(extraData, Buffer.from('made up')), 0],
  ['beside its block, of which the header is not held', madeUp(extraData, Buffer.from('made up')), next],
  ['above the head', madeUp(number, hexToBytes('0x01ffff')), 0],
] as const) {
  t.test(`a block that is made up ${what} hides no transaction`, async (t) => {
    const nodes = new LiarFirst(true, ({ method, params }, result) => {
      if (method === 'debug_getRawBlock' && params[0] === made.hash) return made.rlp
      return method === 'eth_getTransactionByHash' ? { ...(result as object), blockHash: made.hash } : result
    })
    const store = openStore(t, from)
    const schedule = ForkSchedule.of(demoStore.readIdentity() as ChainIdentity)
    const fetcher = new ProofFetcher(store, nodes, { schedule, fetchMsMax: 60_000 })
    const hash = hexToBytes(wanted) as Hash32
    t.equal(await fetcher.fetch({ kind: 'location', hash }), 'stored')
    t.equal(bytesToHex(store.readLocation(hash)?.blockHash as Hash32), mined.hash)
  })
}
