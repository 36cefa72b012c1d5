/**
 * Blocks of Amsterdam "executed" from their access list alone: its last values are applied to the state, receipts are
 * those that another node gave. No code of a contract runs, so this tests what surrounds execution, and that a list
 * leads from one state to the next.
 */
import { decodeBlockAccessList, type IndexedValue } from '../../src/chain/blockAccessList.js'
import type { ForkSchedule } from '../../src/chain/forks.js'
import { headerFromItems } from '../../src/chain/header.js'
import { BlockExecutor, type ExecutedBlock } from '../../src/evm/blocks/executeBlock.js'
import { Blooms } from '../../src/evm/blocks/receipts.js'
import { isSameAccount, sortChanges } from '../../src/evm/blocks/stateChanges.js'
import { RecoveredKeys } from '../../src/evm/transactions/recoveredKeys.js'
import { receiptsFromJson } from '../../src/ingest/gateway/receiptsFromJson.js'
import type { Executor } from '../../src/ingest/importer.js'
import { type Address, bytesToBigInt, hexToBytes, latin1Key } from '../../src/primitives/bytes.js'
import { emptyCodeHash, emptyTrieRoot, keccak256 } from '../../src/primitives/keccak.js'
import { decodeRlpList, rlpBytes, rlpList } from '../../src/primitives/rlp.js'
import { type Account, emptyAccount, encodeAccount } from '../../src/state/account.js'
import { type StateView, updateStorageRoot } from '../../src/state/stateView.js'
import { indexedRoot, type TrieChange, updateTrieRows } from '../../src/state/trie.js'
import { rowSink } from '../../src/state/tries.js'
import type { Change } from '../../src/store/blockDiff.js'
import type { AmsterdamBlock } from '../ingest/amsterdam.js'

type Execute = Parameters<Executor['execute']>

export class ListExecutor implements Executor {
  readonly #real: BlockExecutor
  readonly #blocks: readonly AmsterdamBlock[]

  constructor(schedule: ForkSchedule, blocks: readonly AmsterdamBlock[]) {
    this.#real = new BlockExecutor(schedule, new RecoveredKeys())
    this.#blocks = blocks
  }

  recoverSenders(...input: Parameters<Executor['recoverSenders']>): Uint8Array {
    return this.#real.recoverSenders(...input)
  }

  execute(...[items, fork, state, ancestorHash]: Execute): ExecutedBlock {
    const header = headerFromItems(rlpList(items[0]))
    const block = this.#blocks[header.number]
    if (block?.blockAccessListRlp === undefined) {
      return this.#real.execute(items, fork, state, ancestorHash)
    }
    const blockAccessList = hexToBytes(block.blockAccessListRlp)
    const receipts = decodeRlpList(receiptsFromJson(block.receipts)).map(rlpBytes)
    const blooms = new Blooms()
    for (const { logs } of block.receipts) blooms.bloomOf(readLogs(logs))
    return {
      changes: changesOf(blockAccessList, state),
      gasUsed: BigInt(block.gasUsed),
      logsBloom: blooms.block,
      receipts,
      receiptsRoot: indexedRoot(receipts),
      requestsHash: header.requestsHash,
      blockAccessList,
      senders: this.#real.recoverSenders(items, fork),
    }
  }
}

function readLogs(logs: unknown) {
  return (logs as readonly { address: string; topics: readonly string[]; data: string }[]).map(
    ({ address, topics, data }) => ({
      address: hexToBytes(address),
      topics: topics.map(hexToBytes),
      data: hexToBytes(data),
    }),
  )
}

/** The state after the last values of a list. */
function changesOf(list: Uint8Array, below: StateView): ExecutedBlock['changes'] {
  const accounts: Change[] = []
  const slots: Change[] = []
  const trie: Change[] = []
  const code = new Map<string, Change>()
  const trieChanges: TrieChange[] = []
  const limits = { transactionCount: 2 ** 20, gasLimit: 2n ** 60n }
  for (const entry of decodeBlockAccessList(list, limits)) {
    const address = entry.address as Address
    const before = below.account(address)
    const last = (changes: readonly IndexedValue[]) => changes.at(-1)?.value
    const [balance, nonce, newCode] = [entry.balanceChanges, entry.nonceChanges, entry.codeChanges].map(last)
    const own: Change[] = entry.storageChanges.map(({ slot, changes }) => [slot, last(changes) as Uint8Array])
    const changed = own.filter(
      ([slot, value]) => Buffer.compare(below.slot(address, slot as never) ?? new Uint8Array(0), value) !== 0,
    )
    for (const [slot, value] of changed) slots.push([Buffer.concat([address, slot]), value])
    const codeHash =
      newCode === undefined ? undefined : newCode.length > 0 ? keccak256(newCode) : emptyCodeHash
    if (codeHash !== undefined && newCode !== undefined && newCode.length > 0) {
      code.set(latin1Key(codeHash), [codeHash, newCode])
    }
    const account: Account = {
      nonce: nonce === undefined ? (before?.nonce ?? 0n) : bytesToBigInt(nonce),
      balance: balance === undefined ? (before?.balance ?? 0n) : bytesToBigInt(balance),
      codeHash: codeHash ?? before?.codeHash ?? emptyAccount.codeHash,
      storageRoot: updateStorageRoot(
        before?.storageRoot ?? emptyTrieRoot,
        changed,
        below.tries(address),
        rowSink(trie, address),
      ),
    }
    const isEmpty =
      account.nonce === 0n && account.balance === 0n && Buffer.compare(account.codeHash, emptyCodeHash) === 0
    const after = isEmpty ? undefined : account
    if (isSameAccount(before, after)) continue
    const row = after && encodeAccount(after)
    accounts.push([address, row ?? new Uint8Array(0)])
    trieChanges.push([keccak256(address), row])
  }
  return {
    stateRoot: updateTrieRows(below.stateRoot, trieChanges, below.tries(), rowSink(trie)),
    accounts: sortChanges(accounts),
    slots: sortChanges(slots),
    trie: sortChanges(trie),
    nodes: [],
    code: sortChanges([...code.values()]),
  }
}
