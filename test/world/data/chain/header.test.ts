// @shares
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { createBlockHeader, createBlockHeaderFromRLP } from '@ethereumjs/block'
import { createCustomCommon, Hardfork, Mainnet } from '@ethereumjs/common'
import fc from 'fast-check'
import t from 'tap'
import { headerRlpFromJson } from '../../../../src/data/chain/blockFromJson.js'
import {
  decodeHeader,
  encodeHeader,
  headerHash,
  headJson,
  readBlockFacts,
  unknownForkOf,
} from '../../../../src/data/chain/header.js'
import { bytesToHex } from '../../../../src/primitives/bytes.js'
import { decodeRlpList, encodeRlp, type RlpItem, rlpSpanAt } from '../../../../src/primitives/rlp.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import {
  type AmsterdamBlock,
  amsterdamChains,
  amsterdamFile,
  readAmsterdamBlocks,
  withoutAmsterdam,
} from '../../../ingest/amsterdam.js'
import { propertyRuns } from '../../../library/property.js'

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const uint = (bits: number) => fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n })
const fields = fc.record({
  parentHash: bytes(32),
  uncleHash: bytes(32),
  coinbase: bytes(20),
  stateRoot: bytes(32),
  transactionsTrie: bytes(32),
  receiptTrie: bytes(32),
  logsBloom: bytes(256),
  difficulty: uint(80),
  number: uint(40),
  gasLimit: uint(60),
  gasUsed: uint(40),
  timestamp: uint(64),
  extraData: fc.uint8Array({ maxLength: 32 }),
  mixHash: bytes(32),
  nonce: bytes(8),
})
const appended = {
  baseFeePerGas: uint(100),
  withdrawalsRoot: bytes(32),
  blobGasUsed: uint(30),
  excessBlobGas: uint(40),
  parentBeaconBlockRoot: bytes(32),
  requestsHash: bytes(32),
}

const forks: readonly (readonly [Hardfork, number])[] = [
  [Hardfork.Chainstart, 0],
  [Hardfork.Byzantium, 0],
  [Hardfork.London, 1],
  [Hardfork.Paris, 1],
  [Hardfork.Shanghai, 2],
  [Hardfork.Cancun, 5],
  [Hardfork.Prague, 6],
  [Hardfork.Osaka, 6],
]

for (const [fork, count] of forks) {
  t.test(`a header of ${fork} survives decoding and encoding and has its hash`, async (t) => {
    const common = createCustomCommon({}, Mainnet, { hardfork: fork })
    const more = Object.fromEntries(Object.entries(appended).slice(0, count))
    fc.assert(
      fc.property(fields, fc.record(more as typeof appended), (fields, more) => {
        const isMerged = common.consensusType() === 'pos'
        const made = createBlockHeader(
          {
            ...fields,
            ...more,
            number: fields.number + 20_000_000n,
            gasLimit: fields.gasLimit + fields.gasUsed + 5000n,
            ...(isMerged ? { difficulty: 0n, nonce: new Uint8Array(8) } : {}),
          } as Parameters<typeof createBlockHeader>[0],
          { common, skipConsensusFormatValidation: true, freeze: false },
        )
        const rlp = made.serialize()
        const header = decodeHeader(rlp)
        const back = encodeHeader(header)
        const again = createBlockHeaderFromRLP(back, { common, skipConsensusFormatValidation: true })
        return (
          bytesToHex(back) === bytesToHex(rlp) &&
          bytesToHex(headerHash(back)) === bytesToHex(again.hash()) &&
          header.number === Number(made.number) &&
          BigInt(header.timestamp) === made.timestamp &&
          readBlockFacts(rlp).timestamp === header.timestamp &&
          header.gasUsed === made.gasUsed &&
          header.difficulty === made.difficulty &&
          header.baseFeePerGas === made.baseFeePerGas &&
          header.blobGasUsed === made.blobGasUsed &&
          header.excessBlobGas === made.excessBlobGas &&
          bytesToHex(header.miner) === made.coinbase.toString()
        )
      }),
      propertyRuns(40),
    )
    t.pass('all agree')
  })
}

t.test('a header with a field of another length, a leading zero or too many fields is refused', async (t) => {
  const common = createCustomCommon({}, Mainnet, { hardfork: Hardfork.Prague })
  const rlp = createBlockHeader(
    { number: 30_000_000n, gasLimit: 5000n, timestamp: 9n },
    { common },
  ).serialize()
  const items = decodeRlpList(rlp)
  const lengths: Record<number, readonly number[]> = {
    0: [0, 31, 33],
    1: [31],
    2: [19, 21],
    3: [31],
    4: [33],
    5: [33],
    6: [255, 257],
    7: [33],
    8: [7],
    9: [33],
    11: [9],
    13: [31],
    14: [7, 9],
    15: [33],
    16: [31],
    17: [9, 33],
    18: [9, 33],
    19: [31],
    20: [33],
  }
  for (const [index, wrong] of Object.entries(lengths)) {
    for (const length of wrong) {
      const changed: RlpItem[] = [...items]
      changed[Number(index)] = new Uint8Array(length).fill(1)
      t.throws(
        () => decodeHeader(encodeRlp(changed)),
        { name: 'RlpError' },
        `field ${index} of ${length} bytes`,
      )
    }
  }
  for (const index of [7, 8, 9, 10, 11, 15, 17, 18]) {
    const changed: RlpItem[] = [...items]
    changed[index] = Uint8Array.of(0, 1)
    t.throws(() => decodeHeader(encodeRlp(changed)), { name: 'RlpError', message: /leading zeros/ })
    changed[index] = [Uint8Array.of(1)]
    t.throws(() => decodeHeader(encodeRlp(changed)), { name: 'RlpError' })
  }
  t.throws(() => decodeHeader(encodeRlp(items.slice(0, 14))), { name: 'RlpError' })
  const amsterdam = [...items, new Uint8Array(32), Uint8Array.of(1)]
  t.equal(decodeHeader(encodeRlp(amsterdam)).slotNumber, 1n)
  const swapped = [...items, Uint8Array.of(1), new Uint8Array(32)]
  t.throws(() => decodeHeader(encodeRlp(swapped)), {
    message: /^header field blockAccessListHash has 1 bytes/,
  })
  const late = [...items, new Uint8Array(32), new Uint8Array(9).fill(1)]
  t.throws(() => decodeHeader(encodeRlp(late)), {
    message: /^header field slotNumber is too large/,
  })
  const many = Array.from({ length: 17 }, () => new Uint8Array(32))
  t.throws(() => decodeHeader(encodeRlp([...amsterdam, ...many])), { name: 'RlpError' })
  t.throws(() => decodeHeader(encodeRlp([...amsterdam, []])), { name: 'RlpError' })
})

t.test(
  'a header with more fields than are known is one of an unknown fork, and keeps its hash',
  async (t) => {
    const common = createCustomCommon({}, Mainnet, { hardfork: Hardfork.Prague })
    const made = createBlockHeader({ number: 30_000_000n, gasLimit: 5000n, timestamp: 9n }, { common })
    const known = encodeRlp([...decodeRlpList(made.serialize()), new Uint8Array(32), Uint8Array.of(1)])
    t.equal(unknownForkOf(decodeHeader(known)), undefined)
    const rlp = encodeRlp([...decodeRlpList(known), new Uint8Array(32).fill(5), new Uint8Array(0)])
    const header = decodeHeader(rlp)
    t.equal(header.slotNumber, 1n)
    t.equal(
      unknownForkOf(header),
      'this chain has a fork that this version does not know (header of block 30000000 has 25 fields); update Tidegate',
    )
    t.equal(bytesToHex(encodeHeader(header)), bytesToHex(rlp))
    const hash = bytesToHex(headerHash(rlp))
    // Nodes write members in any order, and some that are no fields.
    const more = { tip: '0x0', author: `0x${'00'.repeat(20)}`, focil: `0x${'05'.repeat(32)}` }
    const json = { ...JSON.parse(headJson(header, headerHash(rlp))), ...more }
    t.equal(bytesToHex(headerHash(headerRlpFromJson(json))), hash)
    t.not(bytesToHex(headerHash(headerRlpFromJson({ ...json, focil: `0x${'06'.repeat(32)}` }))), hash)
  },
)

const title = 'headers of an Amsterdam chain survive decoding, encoding and JSON'
t.test(title, { skip: withoutAmsterdam }, async (t) => {
  for (const chain of amsterdamChains) {
    const wantedBlocks = readAmsterdamBlocks(chain)
    const { blockDiff } = parseGenesis(readFileSync(amsterdamFile(chain, 'genesis.json'), 'utf8'))
    t.equal(bytesToHex(blockDiff.hash), wantedBlocks[0]?.hash)
    const blocks = gunzipSync(readFileSync(amsterdamFile(chain, 'chain.rlp.gz')))
    let at = 0
    let number = 1
    for (; at < blocks.length; number++) {
      const block = rlpSpanAt(blocks, at)
      const span = rlpSpanAt(blocks, block.payload)
      const rlp = blocks.subarray(span.start, span.end)
      const wanted = wantedBlocks[number] as AmsterdamBlock
      const header = decodeHeader(rlp)
      const json = JSON.parse(headJson(header, headerHash(rlp)))
      if (
        json.hash !== wanted.hash ||
        json.slotNumber !== (wanted.slotNumber ?? null) ||
        json.blockAccessListHash !== (wanted.blockAccessListHash ?? null) ||
        bytesToHex(encodeHeader(header)) !== bytesToHex(rlp) ||
        bytesToHex(headerRlpFromJson(json)) !== bytesToHex(rlp)
      ) {
        t.fail(`block ${number} of ${chain}`)
      }
      at = block.end
    }
    t.equal(number, wantedBlocks.length)
  }
})
