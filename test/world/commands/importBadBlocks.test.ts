// @shares
import { RLP } from '@ethereumjs/rlp'
import t from 'tap'
import {
  chainOf,
  checkFailure,
  checkRefused,
  headOf,
  importHere,
  importInto,
} from '../../commands/importing.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { blockAt, blockBytes, hex, keccak } from '../../rpc/demoChain.js'

/** A block with one header field replaced. */
function withField(bytes: Uint8Array, field: number, value: Uint8Array): Uint8Array {
  const [header, ...body] = RLP.decode(bytes) as unknown as [Uint8Array[], ...Uint8Array[]]
  const changed = header.map((old, index) => (index === field ? value : old))
  return RLP.encode([changed, ...body])
}

t.test(
  'a block whose state root is wrong is named with both values, and the blocks before it are kept',
  async (t) => {
    const folder = makeFolder(t)
    const { header } = blockAt(6)
    const root = Uint8Array.from(header[3] as Uint8Array)
    root[7] = (root[7] as number) ^ 1
    const bad = withField(blockBytes[5] as Uint8Array, 3, root)
    const [badHeader] = RLP.decode(bad) as Uint8Array[]
    const file = writeInto(folder, 'bad.rlp', Buffer.concat([chainOf(1, 5), bad, chainOf(7, 8)]))
    const outcome = await importInto(folder, [file])
    checkFailure(t, outcome, /block 6 \(/)
    for (const part of [
      `bad.rlp: at byte ${chainOf(1, 5).length}: `,
      keccak(RLP.encode(badHeader)),
      `stateRoot is ${hex(header[3] as Uint8Array)} after execution, the header says ${hex(root)}`,
      'all blocks before it are kept',
    ]) {
      t.ok(outcome.err.includes(part), part)
    }
    t.equal(await headOf(folder), 5)
    await importHere(folder, [writeInto(folder, 'good.rlp', chainOf(1, 8))])
    t.equal(await headOf(folder), 8, 'the right block goes in afterwards')
  },
)

t.test("a block with a field of the wrong form is refused as the file's fault", async (t) => {
  const folder = makeFolder(t)
  const first = blockBytes[0] as Uint8Array
  const cases: [bytes: Uint8Array, message: RegExp][] = [
    [withField(first, 3, new Uint8Array(31)), /bad\.rlp: at byte 0: .*stateRoot has 31 bytes/],
    [withField(first, 9, Uint8Array.of(0, 1)), /bad\.rlp: at byte 0: .*gasLimit has leading zeros/],
  ]
  for (const [bytes, message] of cases) {
    await checkRefused(t, folder, writeInto(folder, 'bad.rlp', bytes), message)
  }
})

t.test('a block that breaks another rule is named with the rule', async (t) => {
  const folder = makeFolder(t)
  await importHere(folder, [writeInto(folder, 'good.rlp', chainOf(1, 5))])
  const sixth = blockBytes[5] as Uint8Array
  const cases: [what: string, bytes: Uint8Array, message: RegExp][] = [
    [
      'gas used',
      withField(sixth, 10, Uint8Array.of(1)),
      /block 6 .*gasUsed is \d+ after execution, the header says 1/,
    ],
    ['gas limit', withField(sixth, 9, Uint8Array.of(1, 0, 0)), /block 6 .*gasLimit is 65536, expected/],
    ['difficulty', withField(sixth, 7, Uint8Array.of(9)), /block 6 .*difficulty is 9, expected \d+/],
    ['time', withField(sixth, 11, Uint8Array.of(1)), /block 6 .*timestamp is 1, expected more than/],
    [
      'transactions root',
      withField(sixth, 4, new Uint8Array(32)),
      /block 6 .*transactionsRoot is 0x0{64}, expected/,
    ],
    ['uncles', withField(sixth, 1, new Uint8Array(32)), /block 6 .*sha3Uncles is 0x0{64}, expected/],
    [
      'receipts root',
      withField(sixth, 5, new Uint8Array(32)),
      /block 6 .*receiptsRoot is 0x\w{64} after execution, the header says 0x0{64}/,
    ],
    ['parent', withField(sixth, 0, new Uint8Array(32)), /block 6 .*its parent 0x0{64} is not known/],
    ['number', withField(sixth, 8, Uint8Array.of(9)), /block 9 .*number is 9, expected 6/],
    [
      'a gap',
      blockBytes[6] as Uint8Array,
      /block 7 .*its parent 0x[0-9a-f]{64} is not known; import the blocks before it first/,
    ],
  ]
  for (const [what, bytes, message] of cases) {
    await t.test(what, (t) => checkRefused(t, folder, writeInto(folder, 'bad.rlp', bytes), message))
  }
  t.equal(await headOf(folder), 5)
})
