/**
 * Drafts of transactions: fills the missing members of a message, and writes JSON
 * (internal/ethapi/transaction_args.go).
 */
import { bytesToHex, toQuantity } from '../../../primitives/bytes.js'
import { messageRefused } from '../../../primitives/faults.js'
import { keccak256 } from '../../../primitives/keccak.js'
import type { BlockContext } from '../blocks/blockContext.js'
import { blobsMax } from '../transactions/transactionChecks.js'
import { type TransactionFacts, unsignedTransaction, withFees } from './callTransaction.js'
import type { CallMessage, FillRequest } from './executionRequest.js'

/**
 * The message with missing fees filled in: the suggested tip, and room for a base fee twice as high. Throws FaultError
 * MessageRefused if no transaction can have these members.
 */
export function filledMessage({ message, tip }: FillRequest, context: BlockContext): CallMessage {
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas, blobVersionedHashes: blobs } = message
  const isPriced = gasPrice !== undefined || maxFeePerGas !== undefined || maxPriorityFeePerGas !== undefined
  let fees: Partial<CallMessage> = {}
  if (!context.hasBaseFee && !isPriced) fees = { gasPrice: tip }
  else if (gasPrice === undefined && maxPriorityFeePerGas === undefined) fees = { maxPriorityFeePerGas: tip }
  const filled = withFees({ ...message, ...fees }, context)
  if (blobs?.length === 0) throw messageRefused('need at least 1 blob in transaction')
  if (blobs !== undefined && blobs.length > blobsMax) {
    throw messageRefused(`too many blobs in transaction (have=${blobs.length}, max=${blobsMax})`)
  }
  if (message.to === undefined && blobs !== undefined) {
    throw messageRefused('missing "to" in blob transaction')
  }
  if (message.to === undefined && message.authorizationList !== undefined) {
    throw messageRefused('missing "to" in set code transaction')
  }
  if (message.to === undefined && message.data.length === 0) {
    throw messageRefused('contract creation without any data provided')
  }
  const needsBlobFee = blobs !== undefined && filled.maxFeePerBlobGas === undefined
  return needsBlobFee ? { ...filled, maxFeePerBlobGas: 2n * context.blobBaseFee } : filled
}

/** The draft as go-ethereum writes it, `{raw, tx}`. */
export function draftJson(message: CallMessage, facts: TransactionFacts): string {
  const { type, bytes } = unsignedTransaction(message, facts)
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas, maxFeePerBlobGas } = message
  const { blobVersionedHashes, authorizationList, accessList = [] } = message
  const isLegacy = type === 0
  const hasGasPrice = type < 2
  const quantityOr = (value: bigint | undefined) => (value === undefined ? null : toQuantity(value))
  const tx = {
    type: toQuantity(BigInt(type)),
    ...(isLegacy ? {} : { chainId: toQuantity(facts.chainId) }),
    nonce: toQuantity(facts.nonce),
    to: message.to === undefined ? null : bytesToHex(message.to),
    gas: toQuantity(facts.gasLimit),
    gasPrice: quantityOr(gasPrice),
    maxPriorityFeePerGas: hasGasPrice ? null : quantityOr(maxPriorityFeePerGas ?? 0n),
    maxFeePerGas: hasGasPrice ? null : quantityOr(maxFeePerGas ?? 0n),
    ...(type === 3 ? { maxFeePerBlobGas: quantityOr(maxFeePerBlobGas) } : {}),
    value: toQuantity(message.value),
    input: bytesToHex(message.data),
    ...(isLegacy
      ? {}
      : {
          accessList: accessList.map(({ address, storageKeys }) => ({
            address: bytesToHex(address),
            storageKeys: storageKeys.map(bytesToHex),
          })),
        }),
    ...(type === 3 ? { blobVersionedHashes: blobVersionedHashes?.map(bytesToHex) } : {}),
    ...(type === 4
      ? {
          authorizationList: authorizationList?.map(({ chainId, address, nonce, yParity, r, s }) => ({
            chainId: toQuantity(chainId),
            address: bytesToHex(address),
            nonce: toQuantity(nonce),
            yParity: toQuantity(BigInt(yParity)),
            r: toQuantity(r),
            s: toQuantity(s),
          })),
        }
      : {}),
    v: '0x0',
    r: '0x0',
    s: '0x0',
    ...(isLegacy ? {} : { yParity: '0x0' }),
    hash: bytesToHex(keccak256(bytes)),
  }
  return JSON.stringify({ raw: bytesToHex(bytes), tx })
}
