/**
 * JSON Schemas for the OpenRPC document. Owns those of results that several methods share; schemas of parameters are in
 * params.ts.
 */
import { families } from '../../../data/chain/families/families.js'
import { authorizationFields, type FieldForm } from '../../../primitives/transactionTypes.js'

/** JSON Schema, draft 7. */
export type Schema = Readonly<Record<string, unknown>>

const hex = (pattern: string, title: string): Schema => ({ type: 'string', title, pattern: `^${pattern}$` })

export const quantitySchema = hex('0x(0|[1-9a-f][0-9a-f]*)', 'hex quantity')
export const bytesSchema = hex('0x([0-9a-f]{2})*', 'bytes')
export const hashSchema = hex('0x[0-9a-f]{64}', '32 bytes')
export const addressSchema = hex('0x[0-9a-f]{40}', 'address')
export const wordSchema = hex('0x[0-9a-f]{64}', 'storage word')
const nonceSchema = hex('0x[0-9a-f]{16}', '8 bytes')
const bloomSchema = hex('0x[0-9a-f]{512}', 'bloom')
/** A felt of a rollup. */
export const feltSchema = hex('0x(0|[1-9a-f][0-9a-f]{0,63})', 'felt')
export const booleanSchema: Schema = { type: 'boolean' }
export const textSchema: Schema = { type: 'string' }

export function listSchema(items: Schema): Schema {
  return { type: 'array', items }
}

export function nullable(schema: Schema): Schema {
  return { oneOf: [{ type: 'null' }, schema] }
}

function allNullable(members: Readonly<Record<string, Schema>>): Readonly<Record<string, Schema>> {
  return Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, nullable(schema)]))
}

/** An object with exactly these members; `optional` ones may be absent. */
export function objectSchema(
  title: string,
  members: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema {
  return {
    type: 'object',
    title,
    required: Object.keys(members),
    properties: { ...members, ...optional },
    additionalProperties: false,
  }
}

/** An object that maps names like `key` to `value`. */
export function mapSchema(title: string, key: Schema, value: Schema): Schema {
  return { type: 'object', title, propertyNames: key, additionalProperties: value }
}

export const accessListSchema = listSchema(
  objectSchema('AccessListEntry', { address: addressSchema, storageKeys: listSchema(hashSchema) }),
)

const changesSchema = (title: string, value: Readonly<Record<string, Schema>>): Schema =>
  listSchema(objectSchema(title, { index: quantitySchema, ...value }))

/** EIP-7928, as in execution-apis. */
export const blockAccessListSchema = listSchema(
  objectSchema('AccountAccess', {
    address: addressSchema,
    storageChanges: listSchema(
      objectSchema('SlotChanges', {
        key: hashSchema,
        changes: changesSchema('StorageChange', { value: hashSchema }),
      }),
    ),
    storageReads: listSchema(hashSchema),
    balanceChanges: changesSchema('BalanceChange', { value: quantitySchema }),
    nonceChanges: changesSchema('NonceChange', { value: quantitySchema }),
    codeChanges: changesSchema('CodeChange', { code: bytesSchema }),
  }),
)

export const logSchema = objectSchema('Log', {
  address: addressSchema,
  topics: listSchema(hashSchema),
  data: bytesSchema,
  blockNumber: quantitySchema,
  transactionHash: hashSchema,
  transactionIndex: quantitySchema,
  blockHash: hashSchema,
  blockTimestamp: quantitySchema,
  logIndex: quantitySchema,
  removed: booleanSchema,
})

const blockOfTransaction = {
  blockHash: hashSchema,
  blockNumber: quantitySchema,
  blockTimestamp: quantitySchema,
  transactionIndex: quantitySchema,
}
const transactionMembers = {
  from: addressSchema,
  gas: quantitySchema,
  gasPrice: quantitySchema,
  hash: hashSchema,
  input: bytesSchema,
  nonce: quantitySchema,
  to: nullable(addressSchema),
  value: quantitySchema,
  type: quantitySchema,
  v: quantitySchema,
  r: quantitySchema,
  s: quantitySchema,
}
const fieldSchemas: Readonly<Record<FieldForm, Schema>> = {
  integer: quantitySchema,
  integer64: quantitySchema,
  integer8: quantitySchema,
  optionalInteger: quantitySchema,
  trailingInteger: quantitySchema,
  address: addressSchema,
  hash: hashSchema,
  flag: { type: 'boolean' },
  bytes: bytesSchema,
  recipient: nullable(addressSchema),
  hashes: listSchema(hashSchema),
  accessList: accessListSchema,
  authorizations: listSchema(
    objectSchema(
      'Authorization',
      Object.fromEntries(
        Object.keys(authorizationFields).map((name) => [
          name,
          name === 'address' ? addressSchema : quantitySchema,
        ]),
      ),
    ),
  ),
}
const types = families.flatMap(({ transactionTypes }) => [...transactionTypes.values()])
/** Members that only some types of transactions have. */
const laterTransactionMembers = Object.fromEntries([
  ...types
    .flatMap(({ fields }) => Object.entries(fields))
    .filter(([name]) => !(name in transactionMembers))
    .map(([name, form]) => [name, fieldSchemas[form]] as const),
  ['yParity', quantitySchema] as const,
  ['depositReceiptVersion', quantitySchema] as const,
])

export const transactionSchema = objectSchema(
  'Transaction',
  { ...blockOfTransaction, ...transactionMembers },
  laterTransactionMembers,
)

/** A transaction that is possibly not in a block. */
export const sentTransactionSchema = objectSchema(
  'SentTransaction',
  {
    ...allNullable(blockOfTransaction),
    ...transactionMembers,
  },
  laterTransactionMembers,
)

export const receiptSchema = objectSchema(
  'Receipt',
  {
    blockHash: hashSchema,
    blockNumber: quantitySchema,
    contractAddress: nullable(addressSchema),
    cumulativeGasUsed: quantitySchema,
    effectiveGasPrice: quantitySchema,
    from: addressSchema,
    gasUsed: quantitySchema,
    logs: listSchema(logSchema),
    logsBloom: bloomSchema,
    to: nullable(addressSchema),
    transactionHash: hashSchema,
    transactionIndex: quantitySchema,
    type: quantitySchema,
  },
  {
    root: hashSchema,
    status: quantitySchema,
    blobGasPrice: quantitySchema,
    blobGasUsed: quantitySchema,
    ...Object.fromEntries(
      types.flatMap(({ receiptFields }) => receiptFields.map((name) => [name, quantitySchema])),
    ),
    ...Object.fromEntries(
      families
        .flatMap(({ proofs }) => Object.entries(proofs.receiptForms ?? {}))
        .map(([name, form]) => [name, form === 'decimal' ? { type: 'string' } : quantitySchema]),
    ),
  },
)

const headerMembers = {
  difficulty: quantitySchema,
  extraData: bytesSchema,
  gasLimit: quantitySchema,
  gasUsed: quantitySchema,
  hash: nullable(hashSchema),
  logsBloom: nullable(bloomSchema),
  miner: addressSchema,
  mixHash: hashSchema,
  nonce: nullable(nonceSchema),
  number: nullable(quantitySchema),
  parentHash: hashSchema,
  receiptsRoot: hashSchema,
  sha3Uncles: hashSchema,
  stateRoot: hashSchema,
  timestamp: quantitySchema,
  transactionsRoot: hashSchema,
}

const laterHeaderMembers = {
  baseFeePerGas: quantitySchema,
  withdrawalsRoot: hashSchema,
  blobGasUsed: quantitySchema,
  excessBlobGas: quantitySchema,
  parentBeaconBlockRoot: hashSchema,
  requestsHash: hashSchema,
  blockAccessListHash: hashSchema,
  slotNumber: quantitySchema,
}

/** A header as `newHeads` sends it: members that the block's fork does not have are null. */
export const sentHeaderSchema = objectSchema('SentHeader', {
  ...headerMembers,
  ...allNullable(laterHeaderMembers),
})

export const headerSchema = objectSchema('Header', headerMembers, laterHeaderMembers)

const uncleMembers = {
  ...headerMembers,
  size: quantitySchema,
  totalDifficulty: nullable(quantitySchema),
  uncles: listSchema(hashSchema),
}

export const uncleSchema = objectSchema('Uncle', uncleMembers, laterHeaderMembers)

const blockMembers = {
  ...uncleMembers,
  transactions: {
    oneOf: [listSchema(hashSchema), { ...listSchema(transactionSchema), minItems: 1 }],
  },
}
const laterBlockMembers = {
  ...laterHeaderMembers,
  withdrawals: listSchema(
    objectSchema('Withdrawal', {
      index: quantitySchema,
      validatorIndex: quantitySchema,
      address: addressSchema,
      amount: quantitySchema,
    }),
  ),
}

export const blockSchema = objectSchema('Block', blockMembers, laterBlockMembers)

export const simulatedBlockSchema = objectSchema(
  'SimulatedBlock',
  {
    ...blockMembers,
    calls: listSchema(
      objectSchema(
        'CallResult',
        {
          returnData: bytesSchema,
          logs: listSchema(logSchema),
          gasUsed: quantitySchema,
          maxUsedGas: quantitySchema,
          status: quantitySchema,
        },
        {
          error: objectSchema(
            'CallError',
            { code: { type: 'integer' }, message: textSchema },
            { data: bytesSchema },
          ),
        },
      ),
    ),
  },
  laterBlockMembers,
)
