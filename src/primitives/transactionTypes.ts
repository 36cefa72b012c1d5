/**
 * The types of transactions (EIP-2718), and of each its fields, in the order of its RLP. All that reads or writes
 * transactions asks this table: RLP, JSON and its schema, signatures, what pools take, what is read ahead. A new type is
 * one more object, and a line in the table.
 */

/** How a field stands in RLP, and under its name in JSON. */
export type FieldForm =
  /** An integer below 2^256 or 2^64, without leading zeros; a quantity. */
  | 'integer'
  | 'integer64'
  /** The same, which JSON may lack where it is 0. */
  | 'optionalInteger'
  /** Bytes of any number; hex. */
  | 'bytes'
  /** 20 bytes, or none for a creation; null there. */
  | 'recipient'
  /** 20 and 32 bytes. */
  | 'address'
  | 'hash'
  /** 1 or nothing; a member of JSON only where it is set. */
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
   * Names of the fields, by JSON-RPC, in the order of RLP. Where it is signed, the signature follows: yParity (of type 0:
   * v), r and s. Otherwise its sender is the field `from`, it pays nothing, and its nonce is told by its receipt.
   */
  readonly names: readonly string[]

  constructor(
    /** The first byte; 0 for legacy transactions, which have none. */
    readonly number: number,
    /** The fork from which on blocks may have it. */
    readonly since: TransactionFork,
    readonly fields: Readonly<Record<string, FieldForm>>,
    readonly isSigned = true,
  ) {
    this.names = Object.keys(fields)
  }

  /** Index of a field in the RLP; undefined where the type has none of this name. */
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

/** Of the OP Stack: what L1 forces into a block (specs.optimism.io, protocol/deposits). */
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

/** Ethereum's, by number. */
export const transactionTypes: ReadonlyMap<number, TransactionType> = new Map(
  [legacy, accessList, feeMarket, blob, setCode].map((type) => [type.number, type]),
)

/** Members of an authorization (EIP-7702), in the order of its RLP; all but the address, of 20 bytes, are integers. */
export const authorizationMembers = ['chainId', 'address', 'nonce', 'yParity', 'r', 's'] as const
