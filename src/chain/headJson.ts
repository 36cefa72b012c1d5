import { bytesToHex, toQuantity } from '../primitives/bytes.js'
import type { Header } from './header.js'

/**
 * A header in go-ethereum's form for `newHeads` (`types.Header`, gencodec): without `size` and `totalDifficulty`, the
 * hash last, and null for members that the block's fork does not have.
 */
export function headJson(header: Header, hash: Uint8Array): string {
  const hexOrNull = (bytes: Uint8Array | undefined) =>
    bytes === undefined ? 'null' : `"${bytesToHex(bytes)}"`
  const quantityOrNull = (value: bigint | undefined) =>
    value === undefined ? 'null' : `"${toQuantity(value)}"`
  return (
    `{"parentHash":"${bytesToHex(header.parentHash)}","sha3Uncles":"${bytesToHex(header.unclesHash)}"` +
    `,"miner":"${bytesToHex(header.miner)}","stateRoot":"${bytesToHex(header.stateRoot)}"` +
    `,"transactionsRoot":"${bytesToHex(header.transactionsRoot)}"` +
    `,"receiptsRoot":"${bytesToHex(header.receiptsRoot)}","logsBloom":"${bytesToHex(header.logsBloom)}"` +
    `,"difficulty":"${toQuantity(header.difficulty)}","number":"${toQuantity(header.number)}"` +
    `,"gasLimit":"${toQuantity(header.gasLimit)}","gasUsed":"${toQuantity(header.gasUsed)}"` +
    `,"timestamp":"${toQuantity(header.timestamp)}","extraData":"${bytesToHex(header.extraData)}"` +
    `,"mixHash":"${bytesToHex(header.mixHash)}","nonce":"${bytesToHex(header.nonce)}"` +
    `,"baseFeePerGas":${quantityOrNull(header.baseFeePerGas)}` +
    `,"withdrawalsRoot":${hexOrNull(header.withdrawalsRoot)}` +
    `,"blobGasUsed":${quantityOrNull(header.blobGasUsed)}` +
    `,"excessBlobGas":${quantityOrNull(header.excessBlobGas)}` +
    `,"parentBeaconBlockRoot":${hexOrNull(header.parentBeaconBlockRoot)}` +
    `,"requestsHash":${hexOrNull(header.requestsHash)}` +
    `,"blockAccessListHash":${hexOrNull(header.blockAccessListHash)}` +
    `,"slotNumber":${quantityOrNull(header.slotNumber)},"hash":"${bytesToHex(hash)}"}`
  )
}
