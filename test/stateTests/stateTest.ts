/**
 * Ethereum's state tests (https://github.com/ethereum/execution-specs, legacy: ethereum/tests). A case is one
 * transaction on a given state. For each fork it has the expected state root and hash of the logs.
 */

import { blobBaseFee } from '../../src/data/chain/feeMarket.js'
import type { BlobParameters, ForkName } from '../../src/data/chain/forks.js'
import { includesFork } from '../../src/data/chain/forks.js'
import { type Account, encodeAccount } from '../../src/data/state/account.js'
import type { StateView } from '../../src/data/state/stateView.js'
import { type TrieChange, updateTrie } from '../../src/data/state/trie.js'
import { buildBlockAccessList } from '../../src/execution/evm/blocks/blockAccesses.js'
import type { BlockRules } from '../../src/execution/evm/blocks/blockContext.js'
import { JobWatch } from '../../src/execution/evm/engine/jobWatch.js'
import { Kernel } from '../../src/execution/evm/engine/kernel.js'
import {
  recoverAuthorities,
  type SignedAuthorization,
} from '../../src/execution/evm/transactions/authorizations.js'
import {
  type BlockTransaction,
  runTransaction,
  type TransactionOutcome,
} from '../../src/execution/evm/transactions/transaction.js'
import { InvalidTransactionError } from '../../src/execution/evm/transactions/transactionChecks.js'
import {
  type Address,
  bytesToHex,
  type Hash32,
  hexToBytes,
  padLeft,
  toHash32,
  trimLeft,
} from '../../src/primitives/bytes.js'
import { emptyTrieRoot, keccak256 } from '../../src/primitives/keccak.js'
import { encodeRlp } from '../../src/primitives/rlp.js'
import { emptyState } from '../library/emptyState.js'

interface JsonAccount {
  readonly balance: string
  readonly nonce: string
  readonly code: string
  readonly storage: Readonly<Record<string, string>>
}

export interface JsonStateTest {
  readonly _info?: Readonly<Record<string, unknown>>
  readonly env: Readonly<Record<string, string>>
  readonly pre: Readonly<Record<string, JsonAccount>>
  readonly transaction: Readonly<Record<string, unknown>>
  readonly post: Readonly<Record<string, readonly JsonPost[]>>
  readonly config?: {
    readonly blobSchedule?: Readonly<
      Record<string, { target: string; max: string; baseFeeUpdateFraction: string }>
    >
  }
}

export interface JsonPost {
  readonly hash: string
  readonly logs: string
  readonly indexes: { readonly data: number; readonly gas: number; readonly value: number }
  readonly expectException?: string
}

/** The outcome of one case. */
export interface CaseResult {
  /** The difference; undefined if the case passed. */
  readonly problem: string | undefined
  /** CPU time of the transaction alone, in microseconds; all threads of the process. */
  readonly cpuMicros: number
}

export const forkOfName: ReadonlyMap<string, ForkName> = new Map([
  ['Frontier', 'chainstart'],
  ['Homestead', 'homestead'],
  ['EIP150', 'tangerineWhistle'],
  ['EIP158', 'spuriousDragon'],
  ['Byzantium', 'byzantium'],
  ['Constantinople', 'constantinople'],
  ['ConstantinopleFix', 'petersburg'],
  ['Istanbul', 'istanbul'],
  ['Berlin', 'berlin'],
  ['London', 'london'],
  ['Paris', 'paris'],
  ['Merge', 'paris'],
  ['Shanghai', 'shanghai'],
  ['Cancun', 'cancun'],
  ['Prague', 'prague'],
  ['Osaka', 'osaka'],
  ['Amsterdam', 'amsterdam'],
])

const defaultBlobs: readonly (readonly [ForkName, BlobParameters])[] = [
  ['prague', { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716n }],
  ['cancun', { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477n }],
]

interface MapAccount extends Account {
  readonly code: Uint8Array
  readonly slots: ReadonlyMap<string, Uint8Array>
}

/** A state in memory. */
class MapState implements StateView {
  readonly stateRoot = emptyTrieRoot
  readonly accounts = new Map<string, MapAccount>()
  readonly codes = new Map<string, Uint8Array>()

  constructor(pre: JsonStateTest['pre']) {
    for (const [address, { balance, nonce, code, storage }] of Object.entries(pre)) {
      const bytes = hexBytes(code)
      const codeHash = keccak256(bytes)
      const slots = new Map<string, Uint8Array>()
      for (const [key, value] of Object.entries(storage)) {
        const trimmed = trimLeft(hexBytes(value))
        if (trimmed.length > 0) slots.set(bytesToHex(padLeft(hexBytes(key), 32)), trimmed)
      }
      this.codes.set(bytesToHex(codeHash), bytes)
      const storageRoot = slots.size === 0 ? emptyTrieRoot : toHash32(new Uint8Array(32).fill(1))
      const id = bytesToHex(padLeft(hexBytes(address), 20))
      this.accounts.set(id, {
        nonce: BigInt(nonce),
        balance: BigInt(balance),
        storageRoot,
        codeHash,
        code: bytes,
        slots,
      })
    }
  }

  account(address: Address): Account | undefined {
    return this.accounts.get(bytesToHex(address))
  }

  slot(address: Address, slot: Hash32): Uint8Array | undefined {
    return this.accounts.get(bytesToHex(address))?.slots.get(bytesToHex(slot))
  }

  *slotsOf(): Generator<Hash32> {}

  code(hash: Hash32): Uint8Array | undefined {
    return this.codes.get(bytesToHex(hash))
  }

  readonly tries = emptyState.tries
  readonly hasRows = false
}

const kernel = new Kernel()
// A few cases pay for a memory of 400 MB and more.
kernel.limitMemory(2 ** 30 + 2 ** 28)
/** No job is stopped here. */
const watch = new JobWatch(() => false, { timeMsMax: Number.MAX_SAFE_INTEGER, memoryBytesMax: 2 ** 31 })

/** Runs one case. `post.hash` may be empty: then neither root nor logs are compared. */
export function runCase(test: JsonStateTest, forkName: string, post: JsonPost): CaseResult {
  const fork = forkOfName.get(forkName)
  if (fork === undefined) throw new Error(`unknown fork ${forkName}`)
  const state = new MapState(test.pre)
  const { env } = test
  const blobs = blobParameters(test, forkName, fork)
  const block: BlockRules = {
    fork,
    coinbase: padLeft(hexBytes(env.currentCoinbase as string), 20),
    timestamp: BigInt(env.currentTimestamp as string),
    number: BigInt(env.currentNumber as string),
    random: BigInt((includesFork(fork, 'paris') ? env.currentRandom : env.currentDifficulty) ?? '0x0'),
    gasLimit: BigInt(env.currentGasLimit as string),
    chainId: 1n,
    baseFee: includesFork(fork, 'london') ? BigInt(env.currentBaseFee ?? '0x0a') : 0n,
    blobBaseFee: blobs === undefined ? 0n : blobBaseFee(BigInt(env.currentExcessBlobGas ?? '0x0'), blobs),
    slotNumber: BigInt(env.slotNumber ?? '0x0'),
  }
  kernel.clear()
  kernel.attach(fork, {
    state,
    ancestorHash: (number) => keccak256(Buffer.from(String(number))),
    watch: undefined,
  })
  kernel.setBlock(block)
  const isRecorded = includesFork(fork, 'amsterdam')
  if (isRecorded) kernel.recordAccesses()
  kernel.setAccessIndex(1)
  let outcome: TransactionOutcome | undefined
  let logs = keccak256(encodeRlp([]))
  let refusal: string | undefined
  let cpuMicros = 0
  try {
    const { transaction, authorizations } = parseTransaction(test.transaction, post.indexes)
    const used = { executionGas: 0n, stateGas: 0n }
    const before = process.cpuUsage()
    outcome = runTransaction(kernel, block, blobs, used, transaction, authorizations)
    const { user, system } = process.cpuUsage(before)
    cpuMicros = user + system
    logs = keccak256(encodeRlp(kernel.logs.map(({ address, topics, data }) => [address, topics, data])))
  } catch (error) {
    if (!(error instanceof InvalidTransactionError) && !(error instanceof ParseError)) throw error
    refusal = error.message
    kernel.revert()
  }
  const accessList = isRecorded ? bytesToHex(buildBlockAccessList(kernel)) : undefined
  if (test._info?.['filling-rpc-server'] !== undefined) {
    // The program that made these roots gave the beneficiary a reward of zero. So before EIP-161 there is such an
    // account.
    kernel.begin(block.coinbase, 0n, [])
    kernel.credit(kernel.account(block.coinbase), 0n)
    kernel.end()
  }
  const problem = (): string | undefined => {
    if (post.expectException !== undefined && refusal === undefined)
      return `not refused: ${post.expectException}`
    if (post.expectException === undefined && refusal !== undefined) return `refused: ${refusal}`
    if (post.hash !== '') {
      const root = bytesToHex(rootAfter(state))
      if (root !== post.hash) return `state root ${root}, expected ${post.hash}`
      if (bytesToHex(logs) !== post.logs) return `logs ${bytesToHex(logs)}, expected ${post.logs}`
    }
    return outcome && differenceFrom(test._info ?? {}, { ...outcome, balRlp: accessList })
  }
  return { problem: problem(), cpuMicros }
}

/** The first member of a test's transaction in which the outcome differs. */
function differenceFrom(info: Readonly<Record<string, unknown>>, outcome: object): string | undefined {
  const members = Object.entries(outcome).filter(([, value]) => ['bigint', 'string'].includes(typeof value))
  // JSON has numbers as numbers or in hex.
  const text = (value: unknown) =>
    /^(0x)?[0-9a-f]{1,16}$/.test(String(value)) ? BigInt(String(value)) : value
  const differing = members.find(([name, value]) => name in info && text(info[name]) !== text(value))
  if (differing === undefined) return undefined
  const [name, value] = differing
  return `${name} ${value}, expected ${info[name]}`
}

class ParseError extends Error {}

function blobParameters(test: JsonStateTest, name: string, fork: ForkName): BlobParameters | undefined {
  const given = test.config?.blobSchedule?.[name]
  if (given !== undefined) {
    const { target, max, baseFeeUpdateFraction } = given
    return { target: Number(target), max: Number(max), baseFeeUpdateFraction: BigInt(baseFeeUpdateFraction) }
  }
  return defaultBlobs.find(([first]) => includesFork(fork, first))?.[1]
}

function parseTransaction(
  json: JsonStateTest['transaction'],
  { data, gas, value }: JsonPost['indexes'],
): { transaction: BlockTransaction; authorizations: readonly SignedAuthorization[] } {
  const at = (name: string, index: number): string => (json[name] as string[])[index] as string
  const number = (text: unknown, bits = 256): bigint => {
    if (typeof text !== 'string') return 0n
    if (text.startsWith('0x:bigint ')) throw new ParseError('number too large')
    const parsed = BigInt(text === '' ? 0 : text)
    if (parsed >= 2n ** BigInt(bits)) throw new ParseError('number too large')
    return parsed
  }
  const list = (json.accessLists as (readonly JsonAccess[] | null)[] | undefined)?.[data]
  const authorizations = json.authorizationList as readonly JsonAuthorization[] | undefined
  const hashes = json.blobVersionedHashes as readonly string[] | undefined
  const maxFee = json.maxFeePerGas ?? json.gasPrice
  const isBlob = hashes !== undefined || json.maxFeePerBlobGas !== undefined
  const type =
    authorizations !== undefined
      ? 4
      : isBlob
        ? 3
        : json.maxFeePerGas !== undefined
          ? 2
          : list !== undefined && list !== null
            ? 1
            : 0
  const to = json.to as string | undefined
  const parsed = (authorizations ?? []).map((entry) => ({
    chainId: number(entry.chainId),
    address: hexBytes(entry.address),
    nonce: number(entry.nonce),
    yParity: Number(number(entry.yParity ?? entry.v)),
    r: number(entry.r),
    s: number(entry.s),
  }))
  const transaction = {
    type,
    sender: hexBytes(json.sender as string),
    to: to === undefined || to === '' ? undefined : hexBytes(to),
    nonce: number(json.nonce, 64),
    gasLimit: number(at('gasLimit', gas), 64),
    maxFeePerGas: number(maxFee),
    maxPriorityFeePerGas: number(json.maxPriorityFeePerGas ?? maxFee),
    value: number(at('value', value)),
    data: hexBytes(at('data', data)),
    accessList: list?.map(({ address, storageKeys }) => ({
      address: hexBytes(address),
      storageKeys: storageKeys.map((key) => padLeft(hexBytes(key), 32)),
    })),
    maxFeePerBlobGas: number(json.maxFeePerBlobGas),
    blobVersionedHashes: type === 3 ? (hashes ?? []).map(hexBytes) : undefined,
    authorizationList: type === 4 ? parsed : undefined,
  }
  return { transaction, authorizations: recoverAuthorities(parsed, 1n, watch) }
}

interface JsonAccess {
  readonly address: string
  readonly storageKeys: readonly string[]
}

interface JsonAuthorization {
  readonly chainId: string
  readonly address: string
  readonly nonce: string
  readonly v?: string
  readonly yParity?: string
  readonly r: string
  readonly s: string
}

/** Root of the state with all that the kernel changed. */
function rootAfter(state: MapState): Hash32 {
  const rows = new Map<string, Uint8Array | undefined>()
  for (const [id, account] of state.accounts) rows.set(id, rowOf(account, account.slots, account.codeHash))
  for (const handle of kernel.takeChanged()) {
    const id = bytesToHex(kernel.addressOf(handle))
    if (!kernel.exists(handle)) {
      rows.set(id, undefined)
      continue
    }
    const slots = new Map(kernel.isWiped(handle) ? [] : state.accounts.get(id)?.slots)
    for (const [key, value] of kernel.slotsOf(handle)) {
      const trimmed = trimLeft(value)
      if (trimmed.length === 0) slots.delete(bytesToHex(key))
      else slots.set(bytesToHex(key), trimmed)
    }
    const account = { nonce: kernel.nonceOf(handle), balance: kernel.balanceOf(handle) }
    rows.set(id, rowOf(account, slots, kernel.codeHashOf(handle)))
  }
  const changes: TrieChange[] = []
  for (const [id, row] of rows) if (row !== undefined) changes.push([keccak256(hexToBytes(id.slice(2))), row])
  return rootOf(changes)
}

function rowOf(
  { nonce, balance }: Pick<Account, 'nonce' | 'balance'>,
  slots: ReadonlyMap<string, Uint8Array>,
  codeHash: Hash32,
): Uint8Array {
  const changes: TrieChange[] = []
  for (const [key, value] of slots) changes.push([keccak256(hexToBytes(key.slice(2))), encodeRlp(value)])
  return encodeAccount({ nonce, balance, storageRoot: rootOf(changes), codeHash })
}

function rootOf(changes: TrieChange[]): Hash32 {
  return updateTrie(
    emptyTrieRoot,
    changes,
    () => undefined,
    () => {},
  )
}

function hexBytes(text: string): Uint8Array {
  const digits = text.startsWith('0x') ? text.slice(2) : text
  return hexToBytes(digits.length % 2 === 0 ? digits : `0${digits}`)
}
