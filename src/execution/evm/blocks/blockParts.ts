/**
 * Checks the parts of a block against its header: body, receipts, bloom, access list, and the signatures of its
 * transactions. Executes nothing.
 */
import { blockAccessListHash } from '../../../data/chain/blockAccessList.js'
import { forkRules } from '../../../data/chain/forkRules.js'
import type { ForkName, ForkSchedule } from '../../../data/chain/forks.js'
import { type Header, requireKnownFork } from '../../../data/chain/header.js'
import { indexedRoot } from '../../../data/state/trie.js'
import { bytesToHex, equalBytes, type Hash32, joinBytes } from '../../../primitives/bytes.js'
import { emptyTrieRoot, emptyUnclesHash, hashRlp } from '../../../primitives/keccak.js'
import {
  decodeRlpList,
  encodeRlp,
  RlpError,
  type RlpItem,
  rlpBytes,
  rlpList,
  rlpListSpans,
  rlpSpanAt,
} from '../../../primitives/rlp.js'
import { Slab } from '../../../primitives/slab.js'
import { RecoveredKeys } from '../transactions/recoveredKeys.js'
import { readSignedTransaction } from '../transactions/signedTransaction.js'
import { InvalidTransactionError } from '../transactions/transactionChecks.js'

type BlockPart = 'body' | 'receipts'

/** Makes the error for a wrong part; `what` is the text after its name: "has …", "is …". */
export type PartFault = (part: BlockPart, what: string) => Error

/** The decoded RLP of a block's body. */
export interface BodyItems {
  /** Legacy transactions are lists, typed ones byte strings. */
  readonly transactions: readonly RlpItem[]
  readonly uncles: readonly RlpItem[]
  readonly withdrawals: readonly RlpItem[] | undefined
}

/**
 * Splits a body (RLP). Throws RlpError for another shape, UnknownForkError for extra lists under an unknown fork's
 * header.
 */
export function readBody(body: Uint8Array, header: Header): BodyItems {
  if (emptyBody.equals(body)) return { transactions: [], uncles: [], withdrawals: undefined }
  const items = decodeRlpList(body)
  if (items.length > 3) requireKnownFork(header)
  if (items.length < 2 || items.length > 3)
    throw new RlpError(`a body has 2 or 3 lists, got ${items.length}`, 0)
  const transactions = rlpList(items[0])
  const uncles = rlpList(items[1])
  return { transactions, uncles, withdrawals: items[2] && rlpList(items[2]) }
}

/** Encoded bytes are hashed at once, so one buffer is enough. */
const slab = new Slab()

/** The fields of a header that follow from a body. */
export function bodyHashes({ transactions, uncles, withdrawals }: BodyItems) {
  return {
    transactionsRoot: indexedRoot(
      transactions.map((item) => (item instanceof Uint8Array ? item : encodeRlp(item, slab))),
    ),
    unclesHash: uncles.length === 0 ? emptyUnclesHash : hashRlp(uncles),
    withdrawalsRoot: withdrawals && indexedRoot(withdrawals.map((item) => encodeRlp(item, slab))),
  }
}

/** Root over receipts in their stored encoding. */
export function receiptsRootOf(receipts: readonly Uint8Array[], fork: ForkName): Hash32 {
  const { receiptInTrie } = forkRules(fork).proofs
  return indexedRoot(receiptInTrie ? receipts.map((receipt) => receiptInTrie(receipt, fork)) : receipts)
}

const noSenders = new Uint8Array(0)
/** RLP of a body without transactions and uncles, before Shanghai. */
const emptyBody = Buffer.from('c2c0c0', 'hex')
const numberOfBloomBytes = 256

/** Checks parts of one chain's blocks. */
export class BlockParts {
  readonly #keys: Pick<RecoveredKeys, 'senderOf'>
  readonly #schedule: ForkSchedule

  /** `keys` returns the senders of transactions; it is called in the order of the block. */
  constructor(schedule: ForkSchedule, keys: Pick<RecoveredKeys, 'senderOf'> = new RecoveredKeys()) {
    this.#schedule = schedule
    this.#keys = keys
  }

  /**
   * Checks a body (RLP list: transactions, uncles and, since Shanghai, withdrawals) and returns sender (20 bytes) ‖
   * transaction hash (32 bytes), per transaction. `isMerged`: whether the block is after the Merge.
   */
  checkBody(body: Uint8Array, header: Header, isMerged: boolean, fault: PartFault): Uint8Array {
    const expect = (field: string, got: Uint8Array | undefined, want: Uint8Array | undefined) =>
      expectHash((what) => fault('body', what), field, got, want)
    return reading('body', fault, () => {
      const items = readBody(body, header)
      const { transactions } = items
      const { transactionsRoot, unclesHash, withdrawalsRoot } = bodyHashes(items)
      expect('transactions root', transactionsRoot, header.transactionsRoot)
      expect('uncles hash', unclesHash, header.unclesHash)
      const fork = this.#schedule.forkAt(header.number, header.timestamp, isMerged)
      const isOfBody = forkRules(fork).proofs.hasWithdrawals(fork)
      if (withdrawalsRoot !== undefined || header.withdrawalsRoot !== undefined) {
        expect('withdrawals root', withdrawalsRoot, isOfBody ? header.withdrawalsRoot : emptyTrieRoot)
      }
      return transactions.length === 0 ? noSenders : this.#readSenders(transactions, header, fork, fault)
    })
  }

  /** Checks receipts, an RLP list of byte strings, each a receipt in consensus encoding. */
  checkReceipts(row: Uint8Array, header: Header, fault: PartFault): void {
    reading('receipts', fault, () => {
      const receipts = decodeRlpList(row).map(rlpBytes)
      const root = receiptsRootOf(receipts, this.#schedule.forkOf(header))
      expectHash((what) => fault('receipts', what), 'receipts root', root, header.receiptsRoot)
      const bloom = Buffer.alloc(numberOfBloomBytes)
      for (const receipt of receipts) addBloom(bloom, receipt)
      if (!bloom.equals(header.logsBloom)) {
        throw fault('receipts', "has logs whose bloom is not the header's")
      }
    })
  }

  /** Checks a block access list (EIP-7928) by its hash; with a valid header, the hash also fixes its form. */
  checkAccessList(rlp: Uint8Array, header: Header, fault: (what: string) => Error): void {
    expectHash(fault, 'hash', blockAccessListHash(rlp), header.blockAccessListHash)
  }

  #readSenders(
    transactions: readonly RlpItem[],
    header: Header,
    fork: ForkName,
    fault: PartFault,
  ): Uint8Array {
    const { chainId } = this.#schedule.config
    try {
      return joinBytes(
        transactions.flatMap((item) => {
          const { sender, hash } = readSignedTransaction(item, fork, chainId, this.#keys)
          return [sender, hash]
        }),
      )
    } catch (error) {
      if (!(error instanceof InvalidTransactionError)) throw error
      requireKnownFork(header)
      throw fault('body', `has a transaction that chain ${chainId} does not: ${error.message}`)
    }
  }
}

function reading<T>(part: BlockPart, fault: PartFault, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof RlpError)) throw error
    throw fault(part, `is not what it should be: ${error.message}`)
  }
}

/** Throws the error from `fault` if the two hashes differ. */
export function expectHash(
  fault: (what: string) => Error,
  field: string,
  got: Uint8Array | undefined,
  want: Uint8Array | undefined,
): void {
  if (got !== undefined && want !== undefined && equalBytes(got, want)) return
  const text = (hash: Uint8Array | undefined) => (hash === undefined ? 'none' : bytesToHex(hash))
  throw fault(`has the ${field} ${text(got)}, expected ${text(want)}`)
}

/** Adds the bloom of a receipt in consensus encoding. */
function addBloom(target: Uint8Array, receipt: Uint8Array): void {
  const isLegacy = (receipt[0] as number) >= 0xc0
  const [, , bloom] = rlpListSpans(receipt, rlpSpanAt(receipt, isLegacy ? 0 : 1))
  if (bloom === undefined || bloom.end - bloom.payload !== numberOfBloomBytes) {
    throw new RlpError('a receipt without bloom', 0)
  }
  for (let i = 0; i < numberOfBloomBytes; i++) {
    target[i] = (target[i] as number) | (receipt[bloom.payload + i] as number)
  }
}
