const feeMarketFields = [
  'chainId',
  'nonce',
  'maxPriorityFeePerGas',
  'maxFeePerGas',
  'gas',
  'to',
  'value',
  'input',
  'accessList',
]
/** Fields of each type of transaction (EIP-2718) in the order of its RLP, by their names of JSON-RPC; the signature follows. */
export const transactionFields: readonly (readonly string[])[] = [
  ['nonce', 'gasPrice', 'gas', 'to', 'value', 'input'],
  ['chainId', 'nonce', 'gasPrice', 'gas', 'to', 'value', 'input', 'accessList'],
  feeMarketFields,
  [...feeMarketFields, 'maxFeePerBlobGas', 'blobVersionedHashes'],
  [...feeMarketFields, 'authorizationList'],
]
