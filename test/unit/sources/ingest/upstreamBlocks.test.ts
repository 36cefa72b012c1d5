// @alone it measures its process, or closes what others share
/** The accused node if one of several sends a wrong block, and the block that is fetched then. */
import t from 'tap'
import { ForkSchedule } from '../../../../src/data/chain/forks.js'
import { bytesToHex, type Hash32, hexToBytes } from '../../../../src/primitives/bytes.js'
import { decodeRlpList, encodeRlp } from '../../../../src/primitives/rlp.js'
import { UpstreamBlocks } from '../../../../src/sources/ingest/nodes/upstreamBlocks.js'
import type { Upstreams } from '../../../../src/sources/upstream/upstreams.js'
import { blocks, genesis, type Json } from '../../../rpc/demoChain.js'
import { LiarFirst } from './liarFirst.js'

function blocksOf(nodes: LiarFirst): UpstreamBlocks {
  const schedule = ForkSchedule.of({ config: JSON.stringify(genesis.config) })
  return new UpstreamBlocks(nodes as Partial<Upstreams> as Upstreams, 60_000, schedule)
}

const newest = blocks.at(-1) as (typeof blocks)[number]

t.test('an access list that is not that of its block is a lie of who sent it', async (t) => {
  for (const list of [[], new Uint8Array(32)]) {
    const nodes = new LiarFirst(true, ({ method }, result) => {
      if (method !== 'debug_getRawBlock') return result
      return bytesToHex(encodeRlp([...decodeRlpList(hexToBytes(String(result))), list]))
    })
    const fetched = await blocksOf(nodes).byHash(hexToBytes(newest.hash) as Hash32)
    t.strictSame(nodes.accused, ['liar'])
    t.equal(fetched?.upstream.name, 'honest')
    t.ok(fetched?.block)
    t.equal(fetched?.block?.blockAccessList, undefined)
  }
})

/** `String` throws for these. */
const textless = { toString: 0 }
const listsInLists = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`)

const wrongBlocks: Readonly<Record<string, (block: Json) => unknown>> = {
  'a text': () => 'hello',
  'uncles that are no list': (block) => ({ ...block, uncles: 7 }),
  'uncles of no block': (block) => ({ ...block, uncles: ['0x'], hash: listsInLists }),
  'a number that is an object': (block) => ({ ...block, number: textless }),
  'a type that is an object': (block) => ({ ...block, transactions: [{ type: textless }] }),
}

t.test('a block of another form is no lie, and another node is asked', async (t) => {
  for (const [what, wrong] of Object.entries(wrongBlocks)) {
    const nodes = new LiarFirst(false, ({ method }, result) =>
      method === 'eth_getBlockByHash' ? wrong(result as Json) : result,
    )
    const fetched = await blocksOf(nodes).byHash(hexToBytes(newest.hash) as Hash32)
    t.strictSame(nodes.accused, [], what)
    t.equal(fetched?.upstream.name, 'honest', what)
  }
})

t.test('an uncle of another form is no lie, and another node is asked', async (t) => {
  const nephew = blocks.find(({ uncles }) => uncles.length > 0) as (typeof blocks)[number]
  const nodes = new LiarFirst(false, ({ method }, result) =>
    method === 'eth_getUncleByBlockHashAndIndex' ? 'hello' : result,
  )
  const fetched = await blocksOf(nodes).byHash(hexToBytes(nephew.hash) as Hash32)
  t.strictSame(nodes.accused, [])
  t.equal(fetched?.rlp.length, nephew.size)
})
