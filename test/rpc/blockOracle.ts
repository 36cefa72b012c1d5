/** Expected JSON of blocks and uncles, computed from RLP by independent code; and the inverse. */
import {
  bytesOf,
  type DemoBlock,
  encode,
  forkBlock,
  hex,
  integer,
  type Json,
  keccak,
  minimalBytes,
  quantity,
} from './demoChain.js'
import { expectedTransaction } from './transactionOracle.js'

type Kind = 'quantity' | 'bytes'

/** Header members in the order of the RLP, with their widths if these are fixed. */
const headerFields: readonly (readonly [name: string, kind: Kind])[] = [
  ['parentHash', 'bytes'],
  ['sha3Uncles', 'bytes'],
  ['miner', 'bytes'],
  ['stateRoot', 'bytes'],
  ['transactionsRoot', 'bytes'],
  ['receiptsRoot', 'bytes'],
  ['logsBloom', 'bytes'],
  ['difficulty', 'quantity'],
  ['number', 'quantity'],
  ['gasLimit', 'quantity'],
  ['gasUsed', 'quantity'],
  ['timestamp', 'quantity'],
  ['extraData', 'bytes'],
  ['mixHash', 'bytes'],
  ['nonce', 'bytes'],
  ['baseFeePerGas', 'quantity'],
  ['withdrawalsRoot', 'bytes'],
  ['blobGasUsed', 'quantity'],
  ['excessBlobGas', 'quantity'],
  ['parentBeaconBlockRoot', 'bytes'],
  ['requestsHash', 'bytes'],
  ['blockAccessListHash', 'bytes'],
  ['slotNumber', 'quantity'],
]

const membersSinceFrontier = [
  ...headerFields.slice(0, 15).map(([name]) => name),
  'hash',
  'size',
  'totalDifficulty',
  'transactions',
  'uncles',
]

/** All members of a block with this number. */
export function blockMembers(number: number): string[] {
  const since = (fork: string, names: string[]) => (number >= forkBlock(fork) ? names : [])
  return [
    ...membersSinceFrontier,
    ...since('london', ['baseFeePerGas']),
    ...since('shanghai', ['withdrawalsRoot', 'withdrawals']),
    ...since('cancun', ['blobGasUsed', 'excessBlobGas', 'parentBeaconBlockRoot']),
    ...since('prague', ['requestsHash']),
  ].sort()
}

/** The hash of the header in a block object. */
export function hashOfBlockJson(block: Json): string {
  const fields = headerFields
    .filter(([name]) => name in block)
    .map(([name, kind]) => (kind === 'bytes' ? bytesOf : minimalBytes)(block[name] as string))
  return keccak(encode(fields))
}

function headerMembers(header: readonly Uint8Array[]): Json {
  return Object.fromEntries(
    header.map((bytes, index) => {
      const [name, kind] = headerFields[index] as readonly [string, Kind]
      return [name, kind === 'bytes' ? hex(bytes) : quantity(bytes)]
    }),
  )
}

/** The block object, with full transactions or their hashes. */
export function expectedBlock(block: DemoBlock, isFull: boolean): Json {
  return {
    ...headerMembers(block.header),
    hash: block.hash,
    size: quantity(block.size),
    totalDifficulty: quantity(block.totalDifficulty),
    transactions: block.transactions.map((transaction, index) =>
      isFull ? expectedTransaction(block, index) : transaction.hash,
    ),
    uncles: block.uncles.map((uncle) => keccak(encode(uncle))),
    ...(block.withdrawals && {
      withdrawals: block.withdrawals.map(([index, validatorIndex, address, amount]) => ({
        index: quantity(index as Uint8Array),
        validatorIndex: quantity(validatorIndex as Uint8Array),
        address: hex(address as Uint8Array),
        amount: quantity(amount as Uint8Array),
      })),
    }),
  }
}

/** The uncle object: a block without transactions. `parentTotalDifficulty` belongs to the uncle's own parent. */
export function expectedUncle(header: readonly Uint8Array[], parentTotalDifficulty: bigint): Json {
  return {
    ...headerMembers(header),
    hash: keccak(encode(header)),
    size: quantity(encode([header, [], []]).length),
    totalDifficulty: quantity(parentTotalDifficulty + integer(header[7] as Uint8Array)),
    uncles: [],
  }
}

const quantityMembers: ReadonlySet<string> = new Set([
  ...headerFields.filter(([, kind]) => kind === 'quantity').map(([name]) => name),
  ...['size', 'totalDifficulty', 'blockNumber', 'blockTimestamp', 'gas', 'gasPrice', 'maxFeePerGas'],
  ...[
    'maxPriorityFeePerGas',
    'maxFeePerBlobGas',
    'transactionIndex',
    'value',
    'type',
    'chainId',
    'v',
    'r',
    's',
  ],
  ...[
    'yParity',
    'index',
    'validatorIndex',
    'amount',
    'cumulativeGasUsed',
    'effectiveGasPrice',
    'status',
    'maxUsedGas',
  ],
  ...['logIndex', 'blobGasPrice'],
])

/**
 * Every string in `value` that is not valid hex for JSON-RPC, as `path: text`. Quantities have no leading zeros, bytes
 * have two digits each, and all digits are lower case.
 */
export function findBadHex(value: unknown, path = '', isTransaction = false): string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => findBadHex(item, `${path}[${index}]`))
  if (typeof value === 'object' && value !== null) {
    // `nonce` is 8 bytes in a block and a quantity in a transaction.
    const isTransactionLike = 'yParity' in value || 'gasPrice' in value
    return Object.entries(value).flatMap(([name, item]) =>
      findBadHex(item, `${path}.${name}`, isTransactionLike),
    )
  }
  if (typeof value !== 'string') return []
  const name = /\.(\w+)$/.exec(path)?.[1] ?? ''
  const isQuantity = quantityMembers.has(name) || (name === 'nonce' && isTransaction)
  const shape = isQuantity ? /^0x(?:0|[1-9a-f][0-9a-f]*)$/ : /^0x(?:[0-9a-f]{2})*$/
  return shape.test(value) ? [] : [`${path}: ${value}`]
}
