import t from 'tap'
import { decodeHeader, encodeHeader, type Header, headerHash } from '../../../src/chain/header.js'
import { encodeBundle } from '../../../src/feed/bundleCodec.js'
import type { FeedEntry } from '../../../src/feed/bundleLog.js'
import { Replica } from '../../../src/ingest/feed/replica.js'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { londonConfig, mergedConfig, testGenesis } from '../../chainMaker.js'
import { executedChain, newStore } from '../feed/bundles.js'

const never = new AbortController().signal

/** What nothing but the rules of headers forbids: none of these is in the state or in another root. */
const broken: readonly (readonly [
  what: string,
  change: (header: Header) => Partial<Header>,
  message: RegExp,
])[] = [
  [
    'a gas limit too far from its parent',
    ({ gasLimit }) => ({ gasLimit: gasLimit * 2n }),
    /: gasLimit is \d+, expected less than 1\/1024 away/,
  ],
  [
    'a timestamp that is not later',
    () => ({ timestamp: 0 }),
    /: timestamp is 0, expected more than the parent's/,
  ],
  [
    'another base fee',
    ({ baseFeePerGas = 0n }) => ({ baseFeePerGas: baseFeePerGas + 1n }),
    /: baseFeePerGas is \d+, expected \d+/,
  ],
  ['more gas used than its limit', ({ gasLimit }) => ({ gasUsed: gasLimit + 1n }), /gas/],
  [
    'another difficulty',
    ({ difficulty }) => ({ difficulty: difficulty + 1n }),
    /: difficulty is \d+, expected \d+/,
  ],
  ['extra data of 33 bytes', () => ({ extraData: new Uint8Array(33) }), /: extraData is 33 bytes/],
]

for (const [name, genesis] of [
  ['London', testGenesis(londonConfig())],
  ['merged', testGenesis(mergedConfig(), { difficulty: '0x0' })],
] as const) {
  t.test(`a replica of a ${name} chain takes no header that an importer refuses`, async (t) => {
    const { genesisText, sent } = await executedChain(t, genesis)
    const { store, schedule } = newStore(t, genesisText)
    const replica = new Replica(store, schedule, 0)
    const entryOf = (sequence: number, changed: Partial<Header> = {}): FeedEntry => {
      const parts = sent[sequence - 1]
      if (parts === undefined) throw new Error(`there is no block ${sequence}`)
      const header = encodeHeader({ ...decodeHeader(parts.header), ...changed })
      const hash = headerHash(header)
      const { number, parentHash } = decodeHeader(header)
      const bundle = encodeBundle({ ...parts, header, hash })
      return { kind: 'block', sequence, block: { number, hash }, parentHash, bundle }
    }
    await replica.apply([entryOf(1)], never)
    const header = decodeHeader(sent[1]?.header as Uint8Array)
    for (const [what, change, message] of broken) {
      await t.rejects(replica.apply([entryOf(2, change(header))], never), { message }, what)
      t.equal(store.readHead()?.number, 1, what)
    }
    await replica.apply([entryOf(2), entryOf(3)], never)
    t.equal(bytesToHex(store.readHead()?.hash as Uint8Array), bytesToHex(sent[2]?.hash as Uint8Array))
  })
}
