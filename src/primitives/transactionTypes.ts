/**
 * The types of transactions (EIP-2718), and the fields of each, in RLP order. All code that reads or writes
 * transactions uses this table: RLP, JSON and its schema, signatures, pools, read-ahead. A new type is one more object,
 * and a line in the table.
 */

/** Form of a field without parts, in RLP and under its name in JSON. */
export type LeafForm =
  /** An integer below 2^256, 2^64 or 2^8, without leading zeros; a quantity. */
  | 'integer'
  | 'integer64'
  | 'integer8'
  /** Like `integer`, but JSON may omit a 0. */
  | 'optionalInteger'
  /** Like `integer`, but RLP and JSON omit it if it is absent. Only the last field may have this form. */
  | 'trailingInteger'
  /** Bytes of any length; hex. */
  | 'bytes'
  /** 20 bytes, or none for a creation, which is null in JSON. */
  | 'recipient'
  /** `address` is 20 bytes, and `hash` is 32. */
  | 'address'
  | 'hash'
  /** 1 or empty; JSON has the member only if it is set. */
  | 'flag'

/** Form of a field that is a list. */
export type ListForm = 'hashes' | 'accessList' | 'authorizations'

export type FieldForm = LeafForm | ListForm

/** Members of an object in a list, in RLP order. */
export type RecordForm = Readonly<Record<string, FieldForm>>

/** An item of `authorizations`. */
export const authorizationFields = {
  chainId: 'integer',
  address: 'address',
  nonce: 'integer64',
  yParity: 'integer8',
  r: 'integer',
  s: 'integer',
} as const satisfies RecordForm

/** The items of each list: of one form, or objects. */
export const listForms: Readonly<Record<ListForm, LeafForm | RecordForm>> = {
  hashes: 'hash',
  /** EIP-2930. */
  accessList: { address: 'address', storageKeys: 'hashes' },
  /** EIP-7702. */
  authorizations: authorizationFields,
}

const quantityForms: ReadonlySet<FieldForm> = new Set<LeafForm>([
  'integer',
  'integer64',
  'integer8',
  'optionalInteger',
  'trailingInteger',
])

/** Whether JSON has a quantity. */
export function isQuantityForm(form: FieldForm): boolean {
  return quantityForms.has(form)
}

export function isListForm(form: FieldForm): form is ListForm {
  return form in listForms
}

type TransactionFork = 'chainstart' | 'berlin' | 'london' | 'cancun' | 'prague'

interface TypeOptions {
  readonly isSigned?: boolean
  readonly sender?: string
  readonly aliases?: Readonly<Record<string, string>>
  readonly receiptFields?: readonly string[]
}

export class TransactionType {
  /**
   * Names of the fields in JSON-RPC, in RLP order. In a signed type the signature follows: yParity (v in type 0), r and
   * s. An unsigned transaction has its sender in the field `from`, pays nothing, and its nonce is in its receipt.
   */
  readonly names: readonly string[]
  readonly isSigned: boolean
  /** The sender of every transaction of an unsigned type without the field `from`; hex. */
  readonly sender: string | undefined
  /** JSON members that some nodes write in place of a field's name. */
  readonly aliases: Readonly<Record<string, string>>
  /** Integers after the logs of a receipt, by their JSON names; RLP omits absent ones. */
  readonly receiptFields: readonly string[]

  constructor(
    /** The first byte; 0 for legacy transactions, which have none. */
    readonly number: number,
    /** The fork from which on blocks may contain it. */
    readonly since: TransactionFork,
    readonly fields: RecordForm,
    { isSigned = true, sender, aliases = {}, receiptFields = [] }: TypeOptions = {},
  ) {
    this.names = Object.keys(fields)
    this.isSigned = isSigned
    this.sender = sender
    this.aliases = aliases
    this.receiptFields = receiptFields
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
  { isSigned: false, receiptFields: ['depositNonce', 'depositReceiptVersion'] },
)

/** The types of a chain, by number. */
export type TransactionTypes = ReadonlyMap<number, TransactionType>

/** Ethereum's types. */
export const transactionTypes: TransactionTypes = new Map(
  [legacy, accessList, feeMarket, blob, setCode].map((type) => [type.number, type]),
)
