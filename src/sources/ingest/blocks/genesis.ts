/** Reads a geth-format genesis, or a chainspec: the state and header of block 0, and the identity of the chain. */

import { forkRules } from '../../../data/chain/forkRules.js'
import {
  ForkSchedule,
  type ForkTimes,
  isRecord,
  parseGenesisConfig,
  toBigInteger,
  toInteger,
  withForkTimes,
} from '../../../data/chain/forks.js'
import {
  emptyBlockAccessListHash,
  emptyRequestsHash,
  encodeHeader,
  fieldsAt,
  type Header,
  toTimestamp,
} from '../../../data/chain/header.js'
import { decodeAccount, emptyAccount, encodeAccount } from '../../../data/state/account.js'
import { updateStorageRoot } from '../../../data/state/stateView.js'
import { type TrieChange, updateTrieRows } from '../../../data/state/trie.js'
import { rowSink } from '../../../data/state/tries.js'
import type { BlockDiff, Change } from '../../../data/store/blockDiff.js'
import type { ChainIdentity } from '../../../data/store/chainRows.js'
import {
  bytesToHex,
  concatBytes,
  equalBytes,
  type Hash32,
  hexToBytes,
  noBytes,
  padLeft,
  toHash32,
  toMinimalBytes,
  trimLeft,
  zeroHash,
} from '../../../primitives/bytes.js'
import { excerpt } from '../../../primitives/jsonType.js'
import { emptyCodeHash, emptyTrieRoot, emptyUnclesHash, keccak256 } from '../../../primitives/keccak.js'
import { encodeRlp } from '../../../primitives/rlp.js'
import { genesisOfChainspec, isChainspec } from './chainspec.js'

export interface Genesis {
  readonly identity: ChainIdentity
  readonly schedule: ForkSchedule
  readonly blockDiff: BlockDiff
}

const baseFeeDefault = 1_000_000_000n

type Json = Record<string, unknown>

/** Members that are read; as in go-ethereum, the case of their names does not matter. */
const members = [
  ...[
    'config',
    'alloc',
    'number',
    'parentHash',
    'coinbase',
    'difficulty',
    'gasLimit',
    'gasUsed',
    'timestamp',
  ],
  ...['extraData', 'mixHash', 'nonce', 'baseFeePerGas', 'blobGasUsed', 'excessBlobGas', 'slotNumber'],
]
const accountMembers = ['nonce', 'balance', 'code', 'storage']

/**
 * Reads a geth-format genesis, or a chainspec, from JSON text. Throws RangeError that names the wrong member. `more`
 * has accounts in geth's form by lower-case address; they are added to those of the text, or replace their members.
 */
export function parseGenesis(text: string, more: Json = {}): Genesis {
  const json = parseJson(text)
  const config = parseGenesisConfig(json.config)
  if (!isRecord(json.alloc)) throw new RangeError('"alloc" is missing')
  const schedule = new ForkSchedule(config)
  const state = buildState(withAccounts(json.alloc, more))
  const header = buildHeader(json, schedule, state)
  const headerRlp = encodeHeader(header)
  const hash = keccak256(headerRlp)
  const networkId = (json.config as Json).networkId ?? config.chainId.toString()
  return {
    schedule,
    identity: {
      chainId: config.chainId.toString(),
      networkId: toBigInteger(networkId, 'config.networkId').toString(),
      genesisHash: bytesToHex(hash),
      config: JSON.stringify(json.config),
    },
    blockDiff: {
      number: 0,
      hash,
      parentHash: header.parentHash,
      header: headerRlp,
      body: encodeRlp(header.withdrawalsRoot === undefined ? [[], []] : [[], [], []]),
      senders: noBytes,
      receipts: encodeRlp([]),
      ...(header.blockAccessListHash === undefined ? {} : { blockAccessList: encodeRlp([]) }),
      totalDifficulty: toMinimalBytes(header.difficulty),
      ...state,
    },
  }
}

/**
 * The text of a geth-format genesis with these fork times in its `config`. Returned unchanged if there are no times, or
 * if it is no genesis, which {@link parseGenesis} reports. Throws RangeError as {@link withForkTimes} does.
 */
export function genesisWithForks(text: string, forks: ForkTimes): string {
  if (Object.values(forks).every((time) => time === undefined)) return text
  let json: Json
  try {
    json = parseJson(text)
  } catch {
    return text
  }
  if (!isRecord(json.config)) return text
  return JSON.stringify({ ...json, config: withForkTimes(json.config, forks) })
}

/** The text of a genesis with this time in seconds, if it has none; see {@link genesisWithForks} for other texts. */
export function genesisWithTime(text: string, seconds: () => number): string {
  let json: Json
  try {
    json = parseJson(text)
  } catch {
    return text
  }
  return json.timestamp === undefined ? JSON.stringify({ ...json, timestamp: seconds() }) : text
}

function parseJson(text: string): Json {
  let json: unknown
  try {
    json = JSON.parse(quoteLargeIntegers(text.replace(/^\uFEFF/, '')))
  } catch (error) {
    throw new RangeError(`not JSON: ${(error as Error).message}`)
  }
  if (!isRecord(json)) throw new RangeError('expected a JSON object')
  return isChainspec(json) ? genesisOfChainspec(json) : withNames(json, members)
}

/** The same object with these names in this spelling. Throws RangeError if a name is given twice. */
function withNames(json: Json, names: readonly string[], path = ''): Json {
  const byLowerCase = new Map(names.map((name) => [name.toLowerCase(), name]))
  const named = new Map<string, unknown>()
  for (const [key, value] of Object.entries(json)) {
    const name = byLowerCase.get(key.toLowerCase()) ?? key
    if (named.has(name)) throw new RangeError(`${path}${key}: given twice`)
    named.set(name, value)
  }
  return Object.fromEntries(named)
}

/**
 * geth writes integers of any size as JSON numbers, of which JSON.parse would keep 53 bits. As strings they stay exact.
 */
function quoteLargeIntegers(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    /^\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token,
  )
}

function withAccounts(alloc: Json, more: Json): Json {
  const merged: Json = { ...alloc }
  for (const [address, entry] of Object.entries(more)) {
    const digits = address.slice(2)
    const known = Object.keys(alloc).find((key) => key.toLowerCase().replace(/^0x/, '') === digits)
    const before = known === undefined ? undefined : alloc[known]
    merged[known ?? digits] = {
      ...(isRecord(before) && withNames(before, accountMembers)),
      ...(entry as Json),
    }
  }
  return merged
}

function buildHeader(json: Json, schedule: ForkSchedule, { stateRoot, accounts }: BuiltState): Header {
  const timestamp = toTimestamp(limitedInteger(json.timestamp ?? 0, 64, 'timestamp'))
  const number = toInteger(json.number ?? 0, 'number')
  if (number !== 0) throw new RangeError('number: a genesis is block 0')
  const difficulty = limitedInteger(required(json, 'difficulty'), 256, 'difficulty')
  const fork = schedule.forkOf({ number, timestamp, difficulty })
  const storage = forkRules(fork).execution.withdrawalsAccount?.(fork)
  const row = storage && accounts.find(([address]) => equalBytes(address, storage))?.[1]
  const withdrawalsRoot = row === undefined ? emptyTrieRoot : decodeAccount(row).storageRoot
  return {
    parentHash: toHash32(fixedBytes(json.parentHash ?? '0x', 32, 'parentHash')),
    unclesHash: emptyUnclesHash,
    miner: fixedBytes(json.coinbase ?? '0x', 20, 'coinbase'),
    stateRoot,
    transactionsRoot: emptyTrieRoot,
    receiptsRoot: emptyTrieRoot,
    logsBloom: new Uint8Array(256),
    difficulty,
    number,
    gasLimit: limitedInteger(required(json, 'gasLimit'), 64, 'gasLimit'),
    gasUsed: toBigInteger(json.gasUsed ?? 0, 'gasUsed'),
    timestamp,
    extraData: toBytes(json.extraData ?? '0x', 'extraData'),
    mixHash: toHash32(fixedBytes(json.mixHash ?? '0x', 32, 'mixHash')),
    nonce: padLeft(toMinimalBytes(limitedInteger(json.nonce ?? 0, 64, 'nonce')), 8),
    ...fieldsAt(fork, {
      baseFeePerGas: toBigInteger(json.baseFeePerGas ?? baseFeeDefault.toString(), 'baseFeePerGas'),
      withdrawalsRoot,
      blobGasUsed: toBigInteger(json.blobGasUsed ?? 0, 'blobGasUsed'),
      excessBlobGas: toBigInteger(json.excessBlobGas ?? 0, 'excessBlobGas'),
      parentBeaconBlockRoot: zeroHash,
      requestsHash: emptyRequestsHash,
      blockAccessListHash: emptyBlockAccessListHash,
      slotNumber: limitedInteger(json.slotNumber ?? 0, 64, 'slotNumber'),
    }),
  }
}

/** A member that go-ethereum requires, too. */
function required(json: Json, member: string): unknown {
  const value = json[member] ?? undefined
  if (value === undefined) throw new RangeError(`${member}: missing, and a genesis has to name it`)
  return value
}

type BuiltState = Pick<BlockDiff, 'accounts' | 'slots' | 'trie' | 'code'> & { readonly stateRoot: Hash32 }

function buildState(alloc: Json): BuiltState {
  const accounts = new Map<string, Change>()
  const slots: Change[] = []
  const trie: Change[] = []
  const code = new Map<string, Change>()
  const readNode = () => undefined
  const changes: TrieChange[] = []
  for (const [addressText, written] of Object.entries(alloc)) {
    const path = `alloc.${addressText}`
    const address = fixedBytes(addressText, 20, path)
    if (accounts.has(bytesToHex(address))) throw new RangeError(`${path}: address given twice`)
    if (!isRecord(written)) throw new RangeError(`${path}: expected an object`)
    const entry = withNames(written, accountMembers, `${path}.`)
    const codeBytes = toBytes(entry.code ?? '0x', `${path}.code`)
    const codeHash = codeBytes.length === 0 ? emptyCodeHash : keccak256(codeBytes)
    if (codeBytes.length > 0) code.set(bytesToHex(codeHash), [codeHash, codeBytes])
    const storage = parseStorage(entry.storage, path)
    for (const [slot, value] of storage) slots.push([concatBytes(address, slot), value])
    const row = encodeAccount({
      ...emptyAccount,
      nonce: limitedInteger(entry.nonce ?? 0, 64, `${path}.nonce`),
      balance: limitedInteger(entry.balance ?? 0, 256, `${path}.balance`),
      storageRoot: updateStorageRoot(emptyTrieRoot, storage, readNode, rowSink(trie, address)),
      codeHash,
    })
    accounts.set(bytesToHex(address), [address, row])
    changes.push([keccak256(address), row])
  }
  const stateRoot = updateTrieRows(emptyTrieRoot, changes, readNode, rowSink(trie))
  return {
    stateRoot,
    accounts: inKeyOrder(accounts.values()),
    slots: inKeyOrder(slots),
    trie: inKeyOrder(trie),
    code: inKeyOrder(code.values()),
  }
}

function parseStorage(storage: unknown, path: string): Change[] {
  if (storage === undefined || storage === null) return []
  if (!isRecord(storage)) throw new RangeError(`${path}.storage: expected an object`)
  const written: Change[] = []
  const seen = new Set<string>()
  for (const [slotText, value] of Object.entries(storage)) {
    const slotPath = `${path}.storage.${slotText}`
    const slot = fixedBytes(slotText, 32, slotPath)
    if (seen.has(bytesToHex(slot))) throw new RangeError(`${slotPath}: slot given twice`)
    seen.add(bytesToHex(slot))
    const trimmed = trimLeft(fixedBytes(value, 32, slotPath))
    if (trimmed.length > 0) written.push([slot, trimmed])
  }
  return written
}

function inKeyOrder(changes: Iterable<Change>): Change[] {
  return [...changes].sort(([a], [b]) => Buffer.compare(a, b))
}

function toBytes(value: unknown, path: string): Uint8Array {
  if (typeof value !== 'string') throw new RangeError(`${path}: expected hex, got ${JSON.stringify(value)}`)
  try {
    return hexToBytes(value.replace(/^0X/, '0x'))
  } catch {
    throw new RangeError(`${path}: expected hex, got ${excerpt(JSON.stringify(value), 80)}`)
  }
}

function limitedInteger(value: unknown, bits: number, path: string): bigint {
  const integer = toBigInteger(value, path)
  if (integer >= 2n ** BigInt(bits)) throw new RangeError(`${path}: expected at most ${bits} bits`)
  return integer
}

/** Decodes hex of at most `width` bytes, also with an odd number of digits, and pads it on the left. */
function fixedBytes(value: unknown, width: number, path: string): Uint8Array {
  if (typeof value !== 'string') throw new RangeError(`${path}: expected hex, got ${JSON.stringify(value)}`)
  const digits = value.replace(/^0x/i, '')
  const bytes = toBytes(digits.length % 2 === 0 ? digits : `0${digits}`, path)
  if (bytes.length > width)
    throw new RangeError(`${path}: expected at most ${width} bytes, got ${bytes.length}`)
  return padLeft(bytes, width)
}
