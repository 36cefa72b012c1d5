/**
 * Whether a block that upstreams report as safe or finalized is accepted here. It must be canonical, and above the
 * stored one if that is still canonical.
 */

import {
  BlockAccessListError,
  blockAccessListHash,
  checkBlockAccessItems,
  decodeBlockAccessList,
} from '../../../data/chain/blockAccessList.js'
import { nextDifficulty } from '../../../data/chain/feeMarket.js'
import { forkRules } from '../../../data/chain/forkRules.js'
import { type ForkName, type ForkSchedule, includesFork } from '../../../data/chain/forks.js'
import { appendedFields, fieldForks, type Header, requireKnownFork } from '../../../data/chain/header.js'
import { type BodyItems, bodyHashes } from '../../../execution/evm/blocks/blockParts.js'
import type { ExecutedBlock } from '../../../execution/evm/blocks/executeBlock.js'
import { bytesToHex, equalBytes, type Hash32 } from '../../../primitives/bytes.js'
import { InvalidBlockError } from '../../../primitives/faults.js'
import { emptyUnclesHash } from '../../../primitives/keccak.js'
import type { RlpItem } from '../../../primitives/rlp.js'

export interface RuleContext {
  readonly schedule: ForkSchedule
  readonly fork: ForkName
  readonly isMerged: boolean
  /** Whether headers need not follow from their parents', as on a development chain. */
  readonly isDevelopment?: boolean
}

/** EIP-779: number of blocks from the DAO fork on with the fork's extra data. */
const daoExtraDataBlocks = 10
const daoExtraData = Buffer.from('dao-hard-fork')

function must(holds: boolean, field: string, got: unknown, want: string): void {
  if (!holds) throw new InvalidBlockError(`${field} is ${got}, expected ${want}`)
}

function mustEqual(field: string, got: bigint | number | undefined, want: bigint | number | undefined): void {
  must(got === want, field, got ?? 'absent', String(want ?? 'none'))
}

/**
 * Checks a header against its parent's. Throws InvalidBlockError that names the field, its value and the expected one;
 * UnknownForkError.
 */
export function checkHeader(header: Header, parent: Header, context: RuleContext): void {
  requireKnownFork(header)
  mustEqual('number', header.number, parent.number + 1)
  if (context.isDevelopment === true) return checkPresence(header, context.fork)
  must(
    header.timestamp > parent.timestamp,
    'timestamp',
    header.timestamp,
    `more than the parent's ${parent.timestamp}`,
  )
  checkConsensus(header, parent, context)
  checkPresence(header, context.fork)
  const { number, timestamp } = header
  const child = { number, timestamp, ...context.schedule.rulesAt(context.fork) }
  forkRules(context.fork).headers.check(header, parent, child, must)
  must(
    header.gasUsed <= header.gasLimit,
    'gasUsed',
    header.gasUsed,
    `at most the gas limit ${header.gasLimit}`,
  )
  checkDaoExtraData(header, context.schedule.config)
}

/** EIP-779: the first blocks of the fork have its extra data; those of a chain that refuses the fork must not. */
function checkDaoExtraData(
  { number, extraData }: Header,
  { blocks, daoRefusedBlock }: ForkSchedule['config'],
): void {
  const isIn = (first: number | undefined) =>
    first !== undefined && number >= first && number < first + daoExtraDataBlocks
  const hasDaoExtraData = Buffer.compare(extraData, daoExtraData) === 0
  if (isIn(blocks.get('dao')))
    must(hasDaoExtraData, 'extraData', bytesToHex(extraData), 'that of the DAO fork')
  if (isIn(daoRefusedBlock))
    must(!hasDaoExtraData, 'extraData', bytesToHex(extraData), 'none of the DAO fork')
}

function checkConsensus(header: Header, parent: Header, { fork, isMerged, schedule }: RuleContext): void {
  if (isMerged) {
    mustEqual('difficulty', header.difficulty, 0n)
    must(
      header.nonce.every((byte) => byte === 0),
      'nonce',
      bytesToHex(header.nonce),
      'zero after the Merge',
    )
    must(
      Buffer.compare(header.unclesHash, emptyUnclesHash) === 0,
      'sha3Uncles',
      bytesToHex(header.unclesHash),
      'none after the Merge',
    )
    return
  }
  const parentHasUncles = Buffer.compare(parent.unclesHash, emptyUnclesHash) !== 0
  mustEqual(
    'difficulty',
    header.difficulty,
    nextDifficulty(parent, parentHasUncles, header.timestamp, fork, schedule.config.blocks),
  )
}

function checkPresence(header: Header, fork: ForkName): void {
  for (const field of appendedFields) {
    const isDue = includesFork(fork, fieldForks[field])
    must(
      (header[field] !== undefined) === isDue,
      field,
      isDue ? 'absent' : 'present',
      isDue ? `it since ${fieldForks[field]}` : `none before ${fieldForks[field]}`,
    )
  }
}

/** Splits a block's decoded RLP. Throws InvalidBlockError for another shape. */
export function bodyItems(items: readonly RlpItem[]): BodyItems {
  const [, transactions, uncles, withdrawals] = items
  if (items.length < 3 || items.length > 4 || items.some((item) => item instanceof Uint8Array)) {
    throw new InvalidBlockError(
      'not a block: expected a list of header, transactions, uncles and withdrawals',
    )
  }
  return {
    transactions: transactions as readonly RlpItem[],
    uncles: uncles as readonly RlpItem[],
    withdrawals: withdrawals as readonly RlpItem[] | undefined,
  }
}

/** Checks the RLP size of a whole block. Throws InvalidBlockError. */
export function checkSize(blockBytes: number, fork: ForkName): void {
  const most = forkRules(fork).headers.blockBytesMax(fork)
  if (most !== undefined) must(blockBytes <= most, 'block size', blockBytes, `at most ${most} bytes`)
}

/** Checks that a body is the one its header commits to. Throws InvalidBlockError. */
export function checkContent(header: Header, body: BodyItems, fork: ForkName): void {
  const { transactionsRoot, unclesHash, withdrawalsRoot } = bodyHashes(body)
  mustMatch('transactionsRoot', transactionsRoot, header.transactionsRoot)
  mustMatch('sha3Uncles', unclesHash, header.unclesHash)
  must(
    (withdrawalsRoot === undefined) === (header.withdrawalsRoot === undefined),
    'withdrawals',
    withdrawalsRoot === undefined ? 'absent' : 'present',
    'what the header commits to',
  )
  if (withdrawalsRoot === undefined || header.withdrawalsRoot === undefined) return
  if (forkRules(fork).proofs.hasWithdrawals(fork)) {
    mustMatch('withdrawalsRoot', withdrawalsRoot, header.withdrawalsRoot)
  } else must(body.withdrawals?.length === 0, 'withdrawals', body.withdrawals?.length, 'none')
}

/**
 * Checks a block access list that came with a block (EIP-7928): its form, and the header's hash of it. Execution checks
 * whether it matches the block. Throws InvalidBlockError.
 */
export function checkBlockAccessList(list: Uint8Array, header: Header, transactionCount: number): void {
  asRule(() => decodeBlockAccessList(list, { transactionCount, gasLimit: header.gasLimit }))
  const hash = blockAccessListHash(list)
  const inHeader = header.blockAccessListHash
  must(
    inHeader !== undefined && equalBytes(hash, inHeader),
    'blockAccessListHash',
    inHeader === undefined ? 'absent' : bytesToHex(inHeader),
    `${bytesToHex(hash)}, the hash of the list that came with the block`,
  )
}

/** Checks that the list of an executed block is not longer than its gas limit allows. Throws InvalidBlockError. */
export function checkAccessListLength(list: Uint8Array, gasLimit: bigint): void {
  asRule(() => checkBlockAccessItems(list, gasLimit))
}

function asRule(check: () => unknown): void {
  try {
    check()
  } catch (error) {
    if (error instanceof BlockAccessListError) throw new InvalidBlockError(error.message)
    throw error
  }
}

/** Throws InvalidBlockError if the computed hash differs from the header's. */
function mustMatch(field: string, computed: Uint8Array, inHeader: Uint8Array): void {
  must(
    Buffer.compare(computed, inHeader) === 0,
    field,
    bytesToHex(inHeader),
    `${bytesToHex(computed)} from the content`,
  )
}

/** Compares the results of execution with the header. Throws InvalidBlockError that names every difference. */
export function compareWithHeader(header: Header, executed: ExecutedBlock): void {
  const differences: string[] = []
  const compare = (field: string, got: string, want: string) => {
    if (got !== want) differences.push(`${field} is ${got} after execution, the header says ${want}`)
  }
  compare('gasUsed', String(executed.gasUsed), String(header.gasUsed))
  compare('receiptsRoot', bytesToHex(executed.receiptsRoot), bytesToHex(header.receiptsRoot))
  compare('logsBloom', bytesToHex(executed.logsBloom), bytesToHex(header.logsBloom))
  compare('stateRoot', bytesToHex(executed.changes.stateRoot), bytesToHex(header.stateRoot))
  const text = (hash: Hash32 | undefined) => (hash === undefined ? 'absent' : bytesToHex(hash))
  compare('requestsHash', text(executed.requestsHash), text(header.requestsHash))
  const { withdrawalsRoot } = executed
  if (withdrawalsRoot !== undefined)
    compare('withdrawalsRoot', text(withdrawalsRoot), text(header.withdrawalsRoot))
  const list = executed.blockAccessList
  compare('blockAccessListHash', text(list && blockAccessListHash(list)), text(header.blockAccessListHash))
  if (differences.length > 0) throw new InvalidBlockError(differences.join('; '))
}
