/** Blocks that break a rule are refused, and the store stays as it was. */
import { createBlock } from '@ethereumjs/block'
import { RLP } from '@ethereumjs/rlp'
import t from 'tap'
import { hexToBytes } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { contracts, type MadeBlock } from '../../../ingest/chainMaker.js'
import { differences, dumpStore } from '../../../store/storeDump.js'
import { change, london, make, merged, mustBeSound, openImporter, write, writes } from './importing.js'

/** The block with item `index` of its header replaced, even if it is then invalid. */
function withItem(made: MadeBlock, index: number, item: Uint8Array): Uint8Array {
  const items = made.block.raw() as unknown as Uint8Array[][]
  const header = [...(items[0] as Uint8Array[])]
  header[index] = item
  return RLP.encode([header, ...items.slice(1)] as never)
}

const otherHash = keccak256(Buffer.from('other'))
const mutations: readonly (readonly [index: number, field: string, item: Uint8Array])[] = [
  [1, 'sha3Uncles', otherHash],
  [3, 'stateRoot', otherHash],
  [4, 'transactionsRoot', otherHash],
  [5, 'receiptsRoot', otherHash],
  [6, 'logsBloom', new Uint8Array(256).fill(1)],
  [7, 'difficulty', Uint8Array.of(0x77)],
  [8, 'number', Uint8Array.of(0x09)],
  [9, 'gasLimit', hexToBytes('01d00000')],
  [10, 'gasUsed', hexToBytes('5208')],
  [11, 'timestamp', Uint8Array.of(0x01)],
  [12, 'extraData', new Uint8Array(33).fill(1)],
  [15, 'baseFeePerGas', Uint8Array.of(0x07)],
  [16, 'withdrawalsRoot', otherHash],
  [17, 'blobGasUsed', hexToBytes('020000')],
  [18, 'excessBlobGas', hexToBytes('020000')],
  [20, 'requestsHash', otherHash],
]

for (const [name, genesis] of [
  ['proof of work', london()],
  ['merged', merged()],
] as const) {
  t.test(
    `${name}: a block with any header field changed is refused, naming the field and both values`,
    async (t) => {
      const maker = await make(t, genesis)
      const [one, two] = (await maker.extendBy(maker.genesis, writes(5n, 2))) as [MadeBlock, MadeBlock]
      const { store, importAll, importRlp } = await openImporter(t, maker)
      await importAll([one])
      const before = dumpStore(store)
      const isMerged = name === 'merged'
      for (const [index, field, item] of mutations) {
        if (index > 15 && !isMerged) continue
        const error = await importRlp(withItem(two, index, item)).then(
          () => undefined,
          (error: Error) => error,
        )
        t.match(error, { name: 'BadBlockError', number: index === 8 ? 9 : 2 }, field)
        const values = new RegExp(`\\b${field} is \\S+.*(expected|the header says) \\S+`)
        t.match(error?.message, values, field)
        t.strictSame(differences(dumpStore(store), before), [], `${field}: the store stays as it was`)
      }
      await t.rejects(importRlp(withItem(two, 0, otherHash)), /its parent .* is not known/)
      if (isMerged)
        await t.rejects(importRlp(withItem(two, 14, Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 1))), /nonce is/)
      // Fields that hash to the block and nothing more: they make another, equally valid block before the Merge only.
      const { outcome } = await importRlp(two.rlp)
      t.equal(outcome, 'canonical', 'the true block is taken after all the others')
      t.equal(await importAll([one, two]), 'known known')
    },
  )
}

t.test('what is no block at all is refused, whatever it is', async (t) => {
  const maker = await make(t, london())
  const one = await maker.extend(maker.genesis, { transactions: [write(1n, 1n)] })
  const { store, importRlp } = await openImporter(t, maker)
  const before = dumpStore(store)
  const [header, transactions] = one.block.raw() as unknown as [Uint8Array[], Uint8Array[]]
  const hashed = (index: number, content: unknown) => {
    const changed = [...header]
    changed[index] = keccak256(RLP.encode(content as never))
    return changed
  }
  const strange: Record<string, unknown> = {
    'an empty list': [],
    'a list of nothing': [[], [], []],
    'a header alone': [header],
    'a header that is bytes': [Uint8Array.of(1, 2), [], []],
    'a short header': [header.slice(0, 14), transactions, []],
    'five items': [header, transactions, [], [], []],
    'transactions that are bytes': [header, Uint8Array.of(1, 2), []],
    'an uncle that is bytes': [hashed(1, [Uint8Array.of(1, 2)]), transactions, [Uint8Array.of(1, 2)]],
    'an uncle without fields': [hashed(1, [[]]), transactions, [[]]],
    'withdrawals too early': [header, transactions, [], []],
  }
  for (const [what, items] of Object.entries(strange)) {
    await t.rejects(importRlp(RLP.encode(items as never)), { name: /^(BadBlock|InvalidBlock)Error$/ }, what)
    t.strictSame(differences(dumpStore(store), before), [], what)
  }
  await t.rejects(importRlp(Uint8Array.of(0xc2, 0x01)), { name: /^(BadBlock|InvalidBlock)Error$/ })
})

t.test('transactions that break a rule make their block invalid', async (t) => {
  const genesis = london()
  const maker = await make(t, genesis)
  const one = await maker.extend(maker.genesis, { transactions: [write(1n, 1n)] })
  const { store, importRlp } = await openImporter(t, maker)
  const { header, transactions } = one.block
  const { createTx } = await import('@ethereumjs/tx')
  const { genTransactionsTrieRoot } = await import('@ethereumjs/block')
  const { testKeys } = await import('../../../ingest/chainMaker.js')
  const key = testKeys[0] as Uint8Array
  const base = { nonce: 0n, gasLimit: 200_000n, gasPrice: 2_000_000_000n, to: contracts.store, value: 0n }
  const cases: Record<string, Record<string, unknown>> = {
    'a nonce too high': { ...base, nonce: 5n },
    'more value than the sender has': { ...base, value: 10n ** 30n },
    'gas below the intrinsic cost': { ...base, gasLimit: 20_000n },
    'a price below the base fee': { ...base, gasPrice: 1n },
    'more gas than the block has': { ...base, gasLimit: 31_000_000n },
  }
  for (const [what, data] of Object.entries(cases)) {
    const transaction = createTx(data as never, { common: header.common }).sign(key)
    const changed = [transaction, ...transactions.slice(1)]
    const transactionsTrie = await genTransactionsTrieRoot(changed)
    const block = createBlock(
      { header: { ...header, transactionsTrie } as never, transactions: changed },
      { common: header.common, skipConsensusFormatValidation: true },
    )
    await t.rejects(importRlp(block.serialize()), { name: 'BadBlockError', number: 1 }, what)
    t.equal(store.readHead()?.number, 0)
  }
  t.equal((await importRlp(one.rlp)).outcome, 'canonical')
})

t.test('each rule for uncles is kept', async (t) => {
  const maker = await make(t, london())
  const chain = await maker.extendBy(maker.genesis, writes(5n, 9))
  const at = (number: number) => (number === 0 ? maker.genesis : chain[number - 1]) as MadeBlock
  const uncleOf = (number: number, tag: number) =>
    maker.extend(at(number - 1), { extraData: Uint8Array.of(tag), coinbase: `0x${'dd'.repeat(20)}` })
  const { store, importAll, importRlp } = await openImporter(t, maker)
  await importAll(chain)
  const head = at(9)
  const good = await uncleOf(8, 1)
  const deep = await uncleOf(4, 2)
  const tooDeep = await uncleOf(3, 3)
  const plain = await maker.extend(head)
  const attempt = async (uncles: MadeBlock[], message: RegExp) => {
    const headers = uncles.map((uncle) => uncle.block.header.raw())
    const header = [...plain.block.header.raw()]
    header[1] = keccak256(RLP.encode(headers))
    const rlp = RLP.encode([header, [], headers])
    await t.rejects(importRlp(rlp), { name: 'BadBlockError', number: 10, message })
    t.equal(store.readHead()?.number, 9)
  }
  await attempt([good, good], /uncle 1 .* was included before/)
  await attempt([good, deep, await uncleOf(7, 9)], /has 3 uncles, expected at most 2/)
  await attempt([at(8)], /uncle 0 .* is an ancestor/)
  await attempt([tooDeep], /has no parent among the last 7 ancestors/)
  await attempt(
    [await maker.extend(head, { extraData: Uint8Array.of(1) })],
    /is a child of the block's own parent/,
  )
  await attempt([change(good, { gasLimit: 20_000_000n })], /uncle 0 .* is invalid: gasLimit/)
  await attempt([change(good, { timestamp: 1n })], /is invalid: timestamp/)
  await attempt([change(good, { difficulty: 1n })], /is invalid: difficulty/)
  const block = await maker.extend(head, { uncles: [good, deep] })
  t.equal((await importRlp(block.rlp)).outcome, 'canonical')
  const again = await maker.extend(block, { uncles: [good] })
  await t.rejects(importRlp(again.rlp), /uncle 0 .* was included before/)
  const last = await maker.extend(block, { uncles: [await uncleOf(9, 4)] })
  t.equal((await importRlp(last.rlp)).outcome, 'canonical')
  mustBeSound(t, store)
})
