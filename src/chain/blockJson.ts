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

/** All members of a block object that come from its header, without braces. */
export function headerMembers(header: Header, { hash, totalDifficulty, size }: BlockIdentity): string {
  const isPending = hash === null
  let members =
    `"difficulty":"${toQuantity(header.difficulty)}","extraData":"${bytesToHex(header.extraData)}"` +
    `,"gasLimit":"${toQuantity(header.gasLimit)}","gasUsed":"${toQuantity(header.gasUsed)}"` +
    `,"hash":${isPending ? 'null' : `"${bytesToHex(hash)}"`}` +
    `,"logsBloom":${isPending ? 'null' : `"${bytesToHex(header.logsBloom)}"`}` +
    `,"miner":"${bytesToHex(header.miner)}","mixHash":"${bytesToHex(header.mixHash)}"` +
    `,"nonce":${isPending ? 'null' : `"${bytesToHex(header.nonce)}"`}` +
    `,"number":${isPending ? 'null' : `"${toQuantity(header.number)}"`}` +
    `,"parentHash":"${bytesToHex(header.parentHash)}","receiptsRoot":"${bytesToHex(header.receiptsRoot)}"` +
    `,"sha3Uncles":"${bytesToHex(header.unclesHash)}","size":"${toQuantity(size)}"` +
    `,"stateRoot":"${bytesToHex(header.stateRoot)}","timestamp":"${toQuantity(header.timestamp)}"` +
    `,"totalDifficulty":${totalDifficulty === undefined ? 'null' : `"${toQuantity(totalDifficulty)}"`}` +
    `,"transactionsRoot":"${bytesToHex(header.transactionsRoot)}"`
  if (header.baseFeePerGas !== undefined) members += `,"baseFeePerGas":"${toQuantity(header.baseFeePerGas)}"`
  if (header.withdrawalsRoot !== undefined)
    members += `,"withdrawalsRoot":"${bytesToHex(header.withdrawalsRoot)}"`
  if (header.blobGasUsed !== undefined) members += `,"blobGasUsed":"${toQuantity(header.blobGasUsed)}"`
  if (header.excessBlobGas !== undefined) members += `,"excessBlobGas":"${toQuantity(header.excessBlobGas)}"`
  if (header.parentBeaconBlockRoot !== undefined) {
    members += `,"parentBeaconBlockRoot":"${bytesToHex(header.parentBeaconBlockRoot)}"`
  }
  if (header.requestsHash !== undefined) members += `,"requestsHash":"${bytesToHex(header.requestsHash)}"`
  return members
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
  const tail =
    withdrawals === undefined ? '' : `,"withdrawals":[${withdrawals.map(withdrawalJson).join(',')}]`
  json.text(`{${headerMembers(header, identity)},"transactions":[`)
  writeTransactions()
  json.text(`],"uncles":[${uncles}]${tail}}`)
}

/** An uncle object: a block without transactions, whose own uncles are nowhere kept. */
export function uncleJson(
  header: Header,
  headerRlp: Uint8Array,
  hash: Uint8Array,
  totalDifficulty: bigint | undefined,
): string {
  return `{${headerMembers(header, { hash, totalDifficulty, size: bareBlockSize(headerRlp) })},"uncles":[]}`
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
