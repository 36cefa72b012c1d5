import t from 'tap'
import { decodeHeader, encodeHeader, type Header, headerHash } from '../../../../src/data/chain/header.js'
import { indexedRoot } from '../../../../src/data/state/trie.js'
import { bytesToHex } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { decodeRlp, decodeRlpList, encodeRlp, rlpList } from '../../../../src/primitives/rlp.js'
import { type BlockDiffParts, encodeBlockDiff } from '../../../../src/sources/feed/blockDiffCodec.js'
import type { FeedEntry } from '../../../../src/sources/feed/blockDiffLog.js'
import { parseBlock } from '../../../../src/sources/ingest/blocks/block.js'
import { ChainImporter } from '../../../../src/sources/ingest/blocks/importer.js'
import { Replica } from '../../../../src/sources/ingest/feed/replica.js'
import { londonConfig, mergedConfig, testGenesis } from '../../../ingest/chainMaker.js'
import { executedChain, newStore } from '../feed/blockDiffs.js'

const never = new AbortController().signal

/** Faults that only the rules of headers forbid: none of them is in the state or in another root. */
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
      const blockDiff = encodeBlockDiff({ ...parts, header, hash })
      return { kind: 'block', sequence, block: { number, hash }, parentHash, blockDiff }
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

t.test('a replica takes no uncle that an importer refuses', async (t) => {
  const { genesisText, sent } = await executedChain(t, testGenesis(londonConfig()))
  const { store, schedule } = newStore(t, genesisText)
  const replica = new Replica(store, schedule, 0)
  const headerAt = (number: number) => decodeHeader(sent[number - 1]?.header as Uint8Array)
  const entryOf = (number: number, uncles: readonly Header[]): FeedEntry => {
    const parts = sent[number - 1] as BlockDiffParts
    const items = uncles.map((uncle) => decodeRlp(encodeHeader(uncle)))
    const unclesHash = keccak256(encodeRlp(items)) as Header['unclesHash']
    const header = encodeHeader({ ...headerAt(number), unclesHash })
    const [transactions = []] = decodeRlpList(parts.body)
    const body = encodeRlp([transactions, items])
    const hash = headerHash(header)
    const blockDiff = encodeBlockDiff({ ...parts, header, hash, body })
    const { parentHash } = headerAt(number)
    return { kind: 'block', sequence: number, block: { number, hash }, parentHash, blockDiff }
  }
  await replica.apply([entryOf(1, []), entryOf(2, [])], never)
  const sibling = { ...headerAt(1), extraData: Buffer.from('a sibling of block 1') }
  const refused = [
    [[headerAt(1)], /: uncle 0 \(0x.*\) is an ancestor of the block/],
    [[sibling, sibling], /: uncle 1 \(0x.*\) was included before/],
    [[{ ...sibling, gasLimit: sibling.gasLimit * 2n }], /: uncle 0 \(0x.*\) is invalid: gasLimit is/],
    [
      [{ ...headerAt(3), extraData: Buffer.from('x') }],
      /: uncle 0 \(0x.*\) is a child of the block's own parent/,
    ],
  ] as const
  for (const [uncles, message] of refused) {
    await t.rejects(replica.apply([entryOf(3, uncles)], never), { message })
  }
  await replica.apply([entryOf(3, [sibling])], never)
  t.equal(store.readHead()?.number, 3)
})

t.test('a replica takes no block that is longer than EIP-7934 allows, as an importer does not', async (t) => {
  const genesis = testGenesis({ ...mergedConfig(), osakaTime: 0 }, { difficulty: '0x0' })
  const { genesisText, sent } = await executedChain(t, genesis)
  const parts = sent[0] as BlockDiffParts
  const [transactions = [], ...others] = decodeRlpList(parts.body)
  const [transaction] = rlpList(transactions)
  const dataAt = 5
  /** Block 1 with data in its transaction, which changes neither the state nor the receipts that the header names. */
  const withData = (dataBytes: number) => {
    const fields = rlpList(transaction).with(dataAt, new Uint8Array(dataBytes))
    const body = encodeRlp([[fields], ...others])
    const transactionsRoot = indexedRoot([encodeRlp(fields)])
    const header = encodeHeader({ ...decodeHeader(parts.header), transactionsRoot })
    const block = encodeRlp([decodeRlp(header), ...decodeRlpList(body)])
    return { header, body, hash: headerHash(header), block }
  }
  const limit = 8_388_608
  const longest = limit - (withData(limit).block.length - limit)
  const { store, schedule } = newStore(t, genesisText)
  const importer = new ChainImporter(store, schedule)
  const replica = new Replica(store, schedule, 0)
  const { parentHash } = decodeHeader(parts.header)
  const entryOf = ({ header, body, hash }: ReturnType<typeof withData>): FeedEntry => {
    const blockDiff = encodeBlockDiff({ ...parts, header, body, hash })
    return { kind: 'block', sequence: 1, block: { number: 1, hash }, parentHash, blockDiff }
  }
  const tooLong = withData(longest + 1)
  t.equal(tooLong.block.length, limit + 1)
  const message = /: block size is 8388609, expected at most 8388608 bytes/
  await t.rejects(importer.importBlock(parseBlock(tooLong.block)), { message })
  await t.rejects(replica.apply([entryOf(tooLong)], never), { message })
  t.equal(store.readHead()?.number, 0)
  // An importer, which executes it, finds that its gas does not pay for the data.
  await t.rejects(importer.importBlock(parseBlock(withData(longest).block)), { message: /gas/ })
  await replica.apply([entryOf(withData(longest))], never)
  t.equal(store.readHead()?.number, 1)
})
