/**
 * Verifies answers of `tidegate_getVerified` for clients that trust only the hash of a block. Owns what each method
 * must prove. Runs in any JavaScript environment: it uses no interface of Node.js or browsers. Of packages it uses only
 * @noble/hashes and, for senders of transactions, @noble/curves.
 */
import { keccak_256 } from '@noble/hashes/sha3.js'
import { decodeRlp, decodeRlpList, encodeRlp, rlpBytes } from '../primitives/rlp.js'
import {
  hexOf,
  minimalBytes,
  quantityOf,
  readHex,
  readQuantity,
  refuse,
  VerifyError,
  wordOf,
} from './bytes.js'
import { type ProvedHeader, readHeader } from './header.js'
import { receiptJson } from './receipt.js'
import { type Json, type ProvedTransaction, readTransaction } from './transaction.js'
import { emptyTrieRoot, ProofNodes } from './trieProof.js'

/** The request, and the hash of the block that the caller trusts. */
export interface Question {
  /** The first parameter of `tidegate_getVerified`. */
  readonly method: string
  /** The second parameter. A tag in it means the block of `blockHash`; a number or hash must belong to that block. */
  readonly params: readonly unknown[]
  /** 32 bytes, hex, from a source that the caller trusts. */
  readonly blockHash: string
}

type Members = Readonly<Record<string, unknown>>

interface Case {
  readonly answer: Members
  readonly params: readonly unknown[]
  readonly header: ProvedHeader
}

interface Provable {
  /** Members of an answer besides the common ones. */
  readonly members: readonly string[]
  /** Index of the parameter with the block, and number of parameters. */
  readonly blockAt: number
  readonly params: number
  /** The result that the answer proves; throws if it proves none. */
  prove(asked: Case): Json
}

const codeOfNone = '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'

const stateProof = { members: ['proof'], blockAt: 1, params: 2 }
const transactionProof = {
  members: ['transactionProof'],
  blockAt: 0,
  params: 2,
  prove: (asked: Case) => proveTransaction(asked)?.json ?? null,
}
const receiptProof = { members: ['transactionProof', 'receiptProof'], blockAt: 0 }

const provable: ReadonlyMap<string, Provable> = new Map<string, Provable>([
  ['eth_getBalance', { ...stateProof, prove: (asked) => quantityOf(proveAccount(asked).balance) }],
  ['eth_getTransactionCount', { ...stateProof, prove: (asked) => quantityOf(proveAccount(asked).nonce) }],
  ['eth_getCode', { ...stateProof, prove: proveCode }],
  ['eth_getStorageAt', { ...stateProof, blockAt: 2, params: 3, prove: proveSlot }],
  ['eth_getTransactionByBlockHashAndIndex', transactionProof],
  ['eth_getTransactionByBlockNumberAndIndex', transactionProof],
  [
    'eth_getTransactionReceipt',
    { ...receiptProof, params: 2, prove: (asked) => proveReceipt(asked) ?? null },
  ],
  ['eth_getLogs', { ...receiptProof, params: 3, prove: proveLog }],
])

/**
 * The result of a call, after checking that the answer proves it from the header of the block with this hash. Null if
 * the answer proves that there is no result. `answer` is the parsed `result` member of an answer of
 * `tidegate_getVerified`. Throws {@link VerifyError} with the reason.
 *
 * @example
 * const question = { method: 'eth_getBalance', params: [address, 'latest'] }
 * const answer = await request('tidegate_getVerified', [question.method, question.params])
 * const balance = BigInt(verify(answer, { ...question, blockHash: trustedHash }))
 */
// biome-ignore lint/suspicious/noExplicitAny: the form of a result follows from the method, as with any JSON-RPC client.
export function verify(answer: unknown, question: Question): any {
  try {
    return verifyAnswer(answer, question)
  } catch (error) {
    if (error instanceof VerifyError) throw error
    // An error of malformed RLP, or of an invalid signature.
    throw new VerifyError(
      `the answer is malformed: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

export { type HeadOptions, type SignedBlock, verifyHead } from './verifyHead.js'
export { VerifyError }

function verifyAnswer(value: unknown, { method, params, blockHash }: Question): Json {
  const proving = provable.get(method)
  if (proving === undefined) return refuse(`${method} cannot be verified`)
  const trusted = hexOf(readHex(blockHash.toLowerCase(), 'the trusted block hash', 32))
  const members = ['blockHash', 'header', 'result', ...proving.members]
  const isProvingHead = typeof value === 'object' && value !== null && Object.hasOwn(value, 'headProof')
  const answer = readMembers(value, 'the answer', isProvingHead ? [...members, 'headProof'] : members)
  if (answer.blockHash !== trusted) refuse(`the answer is about another block: ${answer.blockHash}`)
  if (params.length > proving.params) refuse(`${method} has ${proving.params} parameters`)
  const header = readHeader(answer.header, trusted)
  requireBlock(params[proving.blockAt], header)
  const proved = proving.prove({ answer, params, header })
  const difference = findDifference(proved, answer.result)
  if (difference !== undefined) refuse(`the result differs from the proved one: ${difference}`)
  return proved
}

/** Throws if a value is not an object with exactly these members. */
function readMembers(value: unknown, what: string, names: readonly string[]): Members {
  if (typeof value !== 'object' || value === null) return refuse(`${what} is not an object`)
  for (const name of names) if (!Object.hasOwn(value, name)) refuse(`${what} has no member ${name}`)
  for (const name of Object.keys(value)) {
    if (!names.includes(name)) refuse(`${what} has an unknown member ${name}`)
  }
  return value as Members
}

const tags: readonly unknown[] = ['latest', 'earliest', 'safe', 'finalized', 'pending', undefined, null]

/** Throws if a question names another block than the trusted one. */
function requireBlock(id: unknown, { hash, number }: ProvedHeader): void {
  if (tags.includes(id)) return
  if (typeof id === 'object' && id !== null) {
    const { blockHash, blockNumber } = id as Members
    return requireBlock(blockHash ?? blockNumber, { hash, number } as ProvedHeader)
  }
  const isIt =
    typeof id === 'string' && id.length === 66
      ? id.toLowerCase() === hash
      : readQuantity(id, 'the block of the question') === number
  if (!isIt)
    refuse(`the question is about block ${id}, the trusted hash is that of block ${quantityOf(number)}`)
}

interface ProvedAccount {
  readonly nonce: Uint8Array
  readonly balance: Uint8Array
  readonly storageRoot: Uint8Array
  readonly codeHash: Uint8Array
  /** The part of the answer; its contents are not proved. */
  readonly storage: readonly unknown[]
}

const proofMembers = [
  'address',
  'accountProof',
  'balance',
  'codeHash',
  'nonce',
  'storageHash',
  'storageProof',
]

/** Throws if the account of the first parameter differs from the proof (EIP-1186). */
function proveAccount({ answer, params, header }: Case, slots = 0): ProvedAccount {
  const proof = readMembers(answer.proof, 'proof', proofMembers)
  const address = readHex(lowerCase(params[0]), 'the address', 20)
  const nodes = new ProofNodes(proof.accountProof, 'accountProof')
  const value = nodes.read(header.stateRoot, keccak_256(address))
  nodes.requireAllUsed()
  const fields = value === undefined ? undefined : decodeRlpList(value).map(rlpBytes)
  if (fields !== undefined && fields.length !== 4) refuse('the account has another number of fields')
  const [nonce = noBytes, balance = noBytes] = fields ?? []
  const storageRoot = fields?.[2] ?? readHex(emptyTrieRoot, 'root')
  const codeHash = fields?.[3] ?? readHex(codeOfNone, 'hash')
  const storage = proof.storageProof
  if (!Array.isArray(storage) || storage.length !== slots) return refuse('storageProof has another length')
  const { accountProof: _, storageProof: __, ...said } = proof
  const proved = {
    address: hexOf(address),
    balance: quantityOf(balance),
    codeHash: hexOf(codeHash),
    nonce: quantityOf(nonce),
    storageHash: hexOf(storageRoot),
  }
  const difference = findDifference(proved, said)
  if (difference !== undefined) refuse(`the proof contradicts itself: ${difference}`)
  return { nonce, balance, storageRoot, codeHash, storage }
}

const noBytes = new Uint8Array(0)

function proveCode(asked: Case): Json {
  const { codeHash } = proveAccount(asked)
  const code = readHex(asked.answer.result, 'the code')
  if (hexOf(keccak_256(code)) !== hexOf(codeHash)) refuse('the code has another hash than its account says')
  return hexOf(code)
}

function proveSlot(asked: Case): Json {
  const { storageRoot, storage } = proveAccount(asked, 1)
  const { key, value, proof } = readMembers(storage[0], 'storageProof[0]', ['key', 'value', 'proof'])
  const slot = wordOf(minimalBytes(BigInt(`0x${lowerCase(asked.params[1]).replace(/^0x/, '')}`)))
  if (key !== hexOf(slot)) refuse(`storageProof is of slot ${key}`)
  const nodes = new ProofNodes(proof, 'storageProof[0].proof')
  const found = nodes.read(storageRoot, keccak_256(slot))
  nodes.requireAllUsed()
  const word = found === undefined ? noBytes : rlpBytes(decodeRlp(found))
  if (value !== quantityOf(word))
    refuse(`the proof contradicts itself: value is ${quantityOf(word)}, not ${value}`)
  return hexOf(wordOf(word))
}

/** The transaction of the second parameter; undefined if the block has none there. */
function proveTransaction({ answer, params, header }: Case): ProvedTransaction | undefined {
  const index = readQuantity(params[1], 'the index')
  const nodes = new ProofNodes(answer.transactionProof, 'transactionProof')
  const raw = nodes.read(header.transactionsRoot, indexKey(index))
  nodes.requireAllUsed()
  return raw && readTransaction(raw, header, index)
}

function proveReceipt(asked: Case): ReturnType<typeof receiptJson> | undefined {
  const { answer, params, header } = asked
  const transaction = proveTransaction(asked)
  const index = readQuantity(params[1], 'the index')
  const nodes = new ProofNodes(answer.receiptProof, 'receiptProof')
  const raw: Uint8Array[] = []
  if (transaction === undefined) {
    if (nodes.read(header.receiptsRoot, indexKey(index)) !== undefined)
      refuse('a receipt without a transaction')
  } else {
    for (let at = 0n; at <= index; at++) {
      raw.push(nodes.read(header.receiptsRoot, indexKey(at)) ?? refuse(`there is no receipt ${at}`))
    }
  }
  nodes.requireAllUsed()
  return transaction && receiptJson(raw, transaction, header, index)
}

function proveLog(asked: Case): Json {
  const place = readQuantity(asked.params[2], 'the place of the log')
  return proveReceipt(asked)?.logs[Number(place)] ?? null
}

/** Key of an index in the tries of transactions and receipts. */
function indexKey(index: bigint): Uint8Array {
  return encodeRlp(minimalBytes(index))
}

function lowerCase(value: unknown): string {
  return typeof value === 'string' ? value.toLowerCase() : refuse('a parameter is not text')
}

/** The first difference between two JSON values, as a sentence; undefined if they are equal. */
function findDifference(proved: unknown, said: unknown, path = ''): string | undefined {
  if (typeof proved !== 'object' || proved === null || typeof said !== 'object' || said === null) {
    if (proved === said) return undefined
    return `${path === '' ? 'it' : path} is ${JSON.stringify(proved)}, not ${JSON.stringify(said)}`
  }
  if (Array.isArray(proved) !== Array.isArray(said)) return `${path} has another form`
  for (const name of new Set([...Object.keys(proved), ...Object.keys(said)])) {
    const [left, right] = [proved, said].map((one) =>
      Object.hasOwn(one, name) ? (one as Members)[name] : undefined,
    )
    const difference = findDifference(left, right, path === '' ? name : `${path}.${name}`)
    if (difference !== undefined) return difference
  }
  return undefined
}
