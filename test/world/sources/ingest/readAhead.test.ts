// @shares
/** Data that is read ahead of a block: the entries of its access list, or else those of its transactions. */
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import t from 'tap'
import { decodeBlockAccessList } from '../../../../src/data/chain/blockAccessList.js'
import { decodeHeader } from '../../../../src/data/chain/header.js'
import { decodeAccount } from '../../../../src/data/state/account.js'
import { headState, type StateView } from '../../../../src/data/state/stateView.js'
import type { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { recoverKeys } from '../../../../src/execution/evm/transactions/recoveredKeys.js'
import { type Address, bytesToHex, concatBytes, hexToBytes } from '../../../../src/primitives/bytes.js'
import {
  decodeRlpList,
  encodeRlp,
  encodeRlpListOfEncoded,
  rlpList,
  rlpListSpans,
  rlpSpanAt,
} from '../../../../src/primitives/rlp.js'
import { parseBlock } from '../../../../src/sources/ingest/blocks/block.js'
import { readChainFile } from '../../../../src/sources/ingest/blocks/chainFile.js'
import { ChainImporter } from '../../../../src/sources/ingest/blocks/importer.js'
import { withKeysAhead } from '../../../../src/sources/ingest/blocks/keysAhead.js'
import { ReadAhead, readListed, readTransactions } from '../../../../src/sources/ingest/blocks/readAhead.js'
import { amsterdamFile, readAmsterdamBlocks, withoutAmsterdam } from '../../../ingest/amsterdam.js'
import { importAmsterdam, newAmsterdamStore } from '../../../ingest/amsterdamStore.js'
import { ChainMaker, contracts, mergedConfig, testGenesis } from '../../../ingest/chainMaker.js'
import { openImporter } from '../../../unit/sources/ingest/importing.js'

const never = () => false
const anyBlock = { transactionCount: 1_000, gasLimit: 10n ** 12n }

/** The same state, the reads of it (addresses, addresses with slots, hashes of code), and the number of nodes. */
function record(state: StateView) {
  const read = new Set<string>()
  let nodes = 0
  const recorded: StateView = {
    ...state,
    account: (address) => {
      read.add(bytesToHex(address))
      return state.account(address)
    },
    slot: (address, slot) => {
      read.add(bytesToHex(concatBytes(address, slot)))
      return state.slot(address, slot)
    },
    code: (hash) => {
      read.add(bytesToHex(hash))
      return state.code(hash)
    },
    tries: (address) => {
      const readNode = state.tries(address)
      return (...node) => {
        nodes++
        return readNode(...node)
      }
    },
  }
  return { recorded, read, nodes: () => nodes }
}

const stateOfHead = (store: ChainWriter) =>
  headState(store, decodeHeader(store.readHeader(store.head.hash) as Uint8Array).stateRoot)

t.test(
  'accounts and slots of the list are read, and nodes above changes',
  { skip: withoutAmsterdam },
  async (t) => {
    const { store } = await importAmsterdam(t, 'a1-cross', 'chain.rlp.gz')
    const list = hexToBytes(readAmsterdamBlocks('a1-cross')[200]?.blockAccessListRlp ?? '0xc0')
    const { recorded, read, nodes } = record(stateOfHead(store))
    readListed(list, recorded, never)
    const accesses = decodeBlockAccessList(list, anyBlock)
    const named = accesses.flatMap(({ address, storageChanges, storageReads }) =>
      [[], ...storageChanges.map(({ slot }) => slot), ...storageReads].map((slot) =>
        bytesToHex(concatBytes(address, Uint8Array.from(slot))),
      ),
    )
    t.strictSame([...read].sort(), named.sort())
    const changed = accesses
      .filter(({ storageChanges, balanceChanges }) => storageChanges.length + balanceChanges.length > 0)
      .reduce((sum, { storageChanges }) => sum + 1 + storageChanges.length, 0)
    t.ok(nodes() >= changed && changed > 0, `${nodes()} nodes above ${changed} changes`)
    read.clear()
    readListed(list, recorded, () => true)
    t.equal(read.size, 0, 'nothing is read for a block that is executed already')
  },
)

t.test('of a block without a list, what its transactions name is read once', async (t) => {
  const maker = await ChainMaker.create(testGenesis(mergedConfig(), { difficulty: '0x0' }))
  const { store } = await openImporter(t, maker)
  const listed = contracts.mortal
  const slot = `0x${'3'.padStart(64, '0')}`
  const accessList = [{ address: listed, storageKeys: [slot] }]
  const to = `0x${'a1'.repeat(20)}`
  const { rlp, block } = await maker.extend(maker.genesis, {
    transactions: [
      { from: 0, to: contracts.store },
      { from: 0, to, type: 2, fields: { accessList } },
      { from: 1, to, type: 1, fields: { accessList: [] } },
      { from: 2, data: new Uint8Array(3), gasLimit: 100_000n },
    ],
  })
  const transactions = rlpList(decodeRlpList(rlp)[1])
  const keys = recoverKeys(rlp, never)
  const { recorded, read, nodes } = record(stateOfHead(store))
  const remembered = new Set<string>()
  readTransactions(transactions, keys, recorded, never, remembered)
  const senders = block.transactions.map((transaction) => transaction.getSenderAddress().toString())
  const code = store.readAccount(hexToBytes(contracts.store) as Address)
  t.strictSame(
    [...read].sort(),
    [
      ...new Set([...senders, contracts.store, to, listed, listed + slot.slice(2)]),
      bytesToHex(decodeAccount(code as Uint8Array).codeHash),
    ].sort(),
  )
  const above = nodes()
  t.ok(above >= senders.length, `${above} nodes above accounts that change`)
  readTransactions(transactions, keys, recorded, never, remembered)
  t.equal(nodes(), above, 'accounts that were read before are not read again')
  read.clear()
  readTransactions(transactions, keys, recorded, () => true, new Set())
  t.equal(read.size, 0, 'nothing is read for a block that is executed already')
  const readAhead = new ReadAhead(store.path, 0)
  await readAhead.open()
  const wrong = [[], [[]], [new Uint8Array(1)], [Uint8Array.of(1, 0xc0)], [Array(9).fill(Uint8Array.of(1))]]
  for (const none of wrong) readAhead.read(encodeRlp([[], none, []]), new Uint8Array(0), never)
  for (const none of wrong) readAhead.read(encodeRlp([[], [], [], [], none]), new Uint8Array(0), never)
  readAhead.read(Uint8Array.of(0x80), new Uint8Array(0), never)
  t.pass('what is no list or no transaction is left to whoever executes the block')
})

t.test(
  'blocks with lists are imported beside it, also where a list is none',
  { skip: withoutAmsterdam },
  async (t) => {
    const { store, schedule } = newAmsterdamStore(t, 'a1-cross')
    const importer = new ChainImporter(store, schedule)
    const broken = async function* () {
      for await (const { rlp } of readChainFile(amsterdamFile('a1-cross', 'chain-with-bal.rlp.gz'))) {
        const parts = rlpListSpans(rlp, rlpSpanAt(rlp, 0)).map(({ start, end }) => rlp.subarray(start, end))
        if (parts.length === 5) parts[4] = Uint8Array.of(0xc2, 0x80, 0x80)
        yield { rlp: encodeRlpListOfEncoded(parts) }
      }
    }
    const hasThread = availableParallelism() > 1
    const ready = hasThread && once(process, 'worker').then(([worker]) => once(worker, 'message'))
    let blocks = 0
    let ahead = 0
    for await (const { rlp, takeKeys } of withKeysAhead(broken(), store, 0)) {
      if (takeKeys !== undefined && blocks >= 40) ahead++
      await ready
      const parts = rlpListSpans(rlp, rlpSpanAt(rlp, 0)).slice(0, 4)
      const block = parseBlock(
        encodeRlpListOfEncoded(parts.map(({ start, end }) => rlp.subarray(start, end))),
      )
      await importer.importBlock({ ...block, takeKeys })
      if (++blocks === 100) break
    }
    t.equal(store.head.number, 100)
    t.equal(ahead > 0, hasThread, `${ahead} blocks were sent to the thread`)
  },
)
