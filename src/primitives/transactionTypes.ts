/**
 * The types of transactions (EIP-2718), and the fields of each, in RLP order. All code that reads or writes
 * transactions uses this table: RLP, JSON and its schema, signatures, pools, read-ahead. A new type is one more object,
 * and a line in the table.
 */

/** Form of a field in RLP, and under its name in JSON. */
export type FieldForm =
  /** An integer below 2^256 or 2^64, without leading zeros; a quantity. */
  | 'integer'
  | 'integer64'
  /** As `integer`, but JSON may omit a 0. */
  | 'optionalInteger'
  /** Bytes of any length; hex. */
  | 'bytes'
  /** 20 bytes, or none for a creation, which is null in JSON. */
  | 'recipient'
  /** 20 and 32 bytes. */
  | 'address'
  | 'hash'
  /** 1 or empty; JSON has the member only if it is set. */
  | 'flag'
  /** A list of 32 bytes each. */
  | 'hashes'
  /** EIP-2930. */
  | 'accessList'
  /** EIP-7702. */
  | 'authorizations'

type TransactionFork = 'chainstart' | 'berlin' | 'london' | 'cancun' | 'prague'

export class TransactionType {
  /**
   * Names of the fields in JSON-RPC, in RLP order. In a signed type the signature follows: yParity (v in type 0), r and
   * s. An unsigned transaction has its sender in the field `from`, pays nothing, and its nonce is in its receipt.
   */
  readonly names: readonly string[]

  constructor(
    /** The first byte; 0 for legacy transactions, which have none. */
    readonly number: number,
    /** The fork from which on blocks may contain it. */
    readonly since: TransactionFork,
    readonly fields: Readonly<Record<string, FieldForm>>,
    readonly isSigned = true,
  ) {
    this.names = Object.keys(fields)
  }

  /** Index of a field in the RLP; undefined if the type has no such field. */
  placeOf(name: string): number | undefined {
    const place = this.names.indexOf(name)
    return place < 0 ? undefined : place
  }
}

const message = { gas: 'integer64', to: 'recipient', value: 'integer', input: 'bytes' } as const
const withPrice = { nonce: 'integer64', gasPrice: 'integer', ...message } as const
const withMarket = {
  chainId: 'integer',
  nonce: 'integer64',
  maxPriorityFeePerGas: 'integer',
  maxFeePerGas: 'integer',
  ...message,
  accessList: 'accessList',
} as const

const legacy = new TransactionType(0, 'chainstart', withPrice)
/** EIP-2930. */
const accessList = new TransactionType(1, 'berlin', {
  chainId: 'integer',
  ...withPrice,
  accessList: 'accessList',
})
/** EIP-1559. */
const feeMarket = new TransactionType(2, 'london', withMarket)
/** EIP-4844. */
const blob = new TransactionType(3, 'cancun', {
  ...withMarket,
  maxFeePerBlobGas: 'integer',
  blobVersionedHashes: 'hashes',
})
/** EIP-7702. */
const setCode = new TransactionType(4, 'prague', { ...withMarket, authorizationList: 'authorizations' })

/** OP Stack deposit: a transaction that L1 forces into a block (specs.optimism.io, protocol/deposits). */
export const depositType = new TransactionType(
  0x7e,
  'chainstart',
  {
    sourceHash: 'hash',
    from: 'address',
    to: 'recipient',
    mint: 'optionalInteger',
    value: 'integer',
    gas: 'integer64',
    isSystemTx: 'flag',
    input: 'bytes',
  },
  false,
)

/** Ethereum's types, by number. */
export const transactionTypes: ReadonlyMap<number, TransactionType> = new Map(
  [legacy, accessList, feeMarket, blob, setCode].map((type) => [type.number, type]),
)

/** Members of an authorization (EIP-7702), in RLP order; all are integers except the address, of 20 bytes. */
export const authorizationMembers = ['chainId', 'address', 'nonce', 'yParity', 'r', 's'] as const
