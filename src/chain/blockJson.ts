/** Blocks and uncles as JSON-RPC shows them. Field set and spelling follow go-ethereum, plus `totalDifficulty`. */
import { bytesToHex, bytesToQuantity, toQuantity } from '../primitives/bytes.js'
import type { JsonBytes } from '../primitives/jsonBytes.js'
import { type RlpItem, rlpBytes, rlpLength, rlpList } from '../primitives/rlp.js'
import type { Header } from './header.js'

/** Members that a pending block has as null (specification, section 3). */
export interface BlockIdentity {
  readonly hash: Uint8Array | null
  /** Undefined: not known, shown as null. */
  readonly totalDifficulty: bigint | undefined
  /** RLP size of the whole block. */
  readonly size: number
}

/**
 * Members of a header in the order of their names, as go-ethereum has them, without braces: those before and those
 * after the place where a block has `transactions`. Without `size` it is a header object, which has no
 * `totalDifficulty` either.
 */
function headerMembers(
  header: Header,
  hash: Uint8Array | null,
  size?: Omit<BlockIdentity, 'hash'>,
): readonly [before: string, rootOfTransactions: string, after: string] {
  const isPending = hash === null
  const quantity = (name: string, value: bigint | undefined) =>
    value === undefined ? '' : `"${name}":"${toQuantity(value)}",`
  const hex = (name: string, bytes: Uint8Array | undefined) =>
    bytes === undefined ? '' : `"${name}":"${bytesToHex(bytes)}",`
  const before =
    quantity('baseFeePerGas', header.baseFeePerGas) +
    quantity('blobGasUsed', header.blobGasUsed) +
    `"difficulty":"${toQuantity(header.difficulty)}",` +
    quantity('excessBlobGas', header.excessBlobGas) +
    `"extraData":"${bytesToHex(header.extraData)}"` +
    `,"gasLimit":"${toQuantity(header.gasLimit)}","gasUsed":"${toQuantity(header.gasUsed)}"` +
    `,"hash":${isPending ? 'null' : `"${bytesToHex(hash)}"`}` +
    `,"logsBloom":${isPending ? 'null' : `"${bytesToHex(header.logsBloom)}"`}` +
    `,"miner":"${bytesToHex(header.miner)}","mixHash":"${bytesToHex(header.mixHash)}"` +
    `,"nonce":${isPending ? 'null' : `"${bytesToHex(header.nonce)}"`}` +
    `,"number":${isPending ? 'null' : `"${toQuantity(header.number)}"`},` +
    hex('parentBeaconBlockRoot', header.parentBeaconBlockRoot) +
    `"parentHash":"${bytesToHex(header.parentHash)}","receiptsRoot":"${bytesToHex(header.receiptsRoot)}",` +
    hex('requestsHash', header.requestsHash) +
    `"sha3Uncles":"${bytesToHex(header.unclesHash)}"` +
    (size === undefined ? '' : `,"size":"${toQuantity(size.size)}"`) +
    `,"stateRoot":"${bytesToHex(header.stateRoot)}","timestamp":"${toQuantity(header.timestamp)}"` +
    (size === undefined ? '' : `,"totalDifficulty":${quantityOrNull(size.totalDifficulty)}`)
  const { withdrawalsRoot } = header
  const after = withdrawalsRoot === undefined ? '' : `,"withdrawalsRoot":"${bytesToHex(withdrawalsRoot)}"`
  return [before, `,"transactionsRoot":"${bytesToHex(header.transactionsRoot)}"`, after]
}

function quantityOrNull(value: bigint | undefined): string {
  return value === undefined ? 'null' : `"${toQuantity(value)}"`
}

/** A header object; `hash` is null for the pending block. */
export function headerJson(header: Header, hash: Uint8Array | null): string {
  return `{${headerMembers(header, hash).join('')}}`
}

/** Writes a block object. `writeTransactions` writes what stands in their array: objects, or hashes. */
export function writeBlock(
  json: JsonBytes,
  header: Header,
  identity: BlockIdentity,
  writeTransactions: () => void,
  uncleHashes: readonly Uint8Array[],
  withdrawals: readonly RlpItem[] | undefined,
): void {
  const uncles = uncleHashes.map((hash) => `"${bytesToHex(hash)}"`).join(',')
  const [before, root, after] = headerMembers(header, identity.hash, identity)
  const listed =
    withdrawals === undefined ? '' : `,"withdrawals":[${withdrawals.map(withdrawalJson).join(',')}]`
  json.text(`{${before},"transactions":[`)
  writeTransactions()
  json.text(`]${root},"uncles":[${uncles}]${listed}${after}}`)
}

/** An uncle object: a block without transactions, whose own uncles are nowhere kept. */
export function uncleJson(
  header: Header,
  headerRlp: Uint8Array,
  hash: Uint8Array,
  totalDifficulty: bigint | undefined,
): string {
  const [before, root, after] = headerMembers(header, hash, {
    totalDifficulty,
    size: bareBlockSize(headerRlp),
  })
  return `{${before}${root},"uncles":[]${after}}`
}

/** RLP size of a block with this header and nothing in its body but `withdrawals` empty lists more. */
export function bareBlockSize(headerRlp: Uint8Array, hasWithdrawals = false): number {
  return rlpLength(headerRlp.length + (hasWithdrawals ? 3 : 2))
}

function withdrawalJson(item: RlpItem): string {
  const [index, validatorIndex, address, amount] = rlpList(item).map(rlpBytes) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ]
  return (
    `{"index":"${bytesToQuantity(index)}","validatorIndex":"${bytesToQuantity(validatorIndex)}"` +
    `,"address":"${bytesToHex(address)}","amount":"${bytesToQuantity(amount)}"}`
  )
}
