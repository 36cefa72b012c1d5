/**
 * Types of transactions of families whose blocks are not executed here. JSON of nodes may omit their integers if they
 * are 0.
 */
import {
  depositType,
  type RecordForm,
  TransactionType,
  type TransactionTypes,
  transactionTypes,
} from '../../../primitives/transactionTypes.js'

/** Ethereum's types and these. */
function withTypes(...own: readonly TransactionType[]): TransactionTypes {
  return new Map([...transactionTypes, ...own.map((type) => [type.number, type] as const)])
}

type Options = ConstructorParameters<typeof TransactionType>[3]

function unsigned(number: number, fields: RecordForm, options: Options = {}): TransactionType {
  return new TransactionType(number, 'chainstart', fields, { ...options, isSigned: false })
}

const integer = 'optionalInteger'
const message = { gas: integer, to: 'recipient', value: integer, input: 'bytes' } as const

export const optimismTypes = withTypes(depositType)

/** Transactions with a fee in another currency (CIP-64). */
const inCurrency = {
  chainId: integer,
  nonce: integer,
  maxPriorityFeePerGas: integer,
  maxFeePerGas: integer,
  ...message,
  accessList: 'accessList',
  feeCurrency: 'recipient',
} as const
export const celoTypes = withTypes(
  depositType,
  new TransactionType(0x7b, 'chainstart', inCurrency, { receiptFields: ['baseFee'] }),
  new TransactionType(0x7a, 'chainstart', { ...inCurrency, maxFeeInFeeCurrency: integer }),
)

export const mantleTypes = withTypes(
  unsigned(
    depositType.number,
    {
      sourceHash: 'hash',
      from: 'address',
      to: 'recipient',
      mint: integer,
      value: integer,
      gas: integer,
      isSystemTx: 'flag',
      ethValue: integer,
      input: 'bytes',
      ethTxValue: 'trailingInteger',
    },
    { receiptFields: depositType.receiptFields },
  ),
)

const capped = { maxFeePerGas: integer, ...message } as const
const cappedByPrice = { aliases: { maxFeePerGas: 'gasPrice' } } as const
export const arbitrumTypes = withTypes(
  unsigned(0x64, { chainId: integer, requestId: 'hash', from: 'address', to: 'address', value: integer }),
  unsigned(0x65, { chainId: integer, from: 'address', nonce: integer, ...capped }, cappedByPrice),
  unsigned(0x66, { chainId: integer, requestId: 'hash', from: 'address', ...capped }, cappedByPrice),
  unsigned(
    0x68,
    {
      chainId: integer,
      nonce: integer,
      from: 'address',
      ...capped,
      ticketId: 'hash',
      refundTo: 'address',
      maxRefund: integer,
      submissionFeeRefund: integer,
    },
    cappedByPrice,
  ),
  unsigned(
    0x69,
    {
      chainId: integer,
      requestId: 'hash',
      from: 'address',
      l1BaseFee: integer,
      depositValue: integer,
      maxFeePerGas: integer,
      gas: integer,
      retryTo: 'recipient',
      retryValue: integer,
      beneficiary: 'address',
      maxSubmissionFee: integer,
      refundTo: 'address',
      retryData: 'bytes',
    },
    cappedByPrice,
  ),
  unsigned(
    0x6a,
    { chainId: integer, input: 'bytes' },
    { sender: '0x00000000000000000000000000000000000a4b05' },
  ),
)

/** Messages of L1, which some nodes write with `sender` in place of `from`. */
export const scrollTypes = withTypes(
  unsigned(
    0x7e,
    {
      queueIndex: integer,
      gas: integer,
      to: 'recipient',
      value: integer,
      input: 'bytes',
      from: 'address',
    },
    { aliases: { from: 'sender' } },
  ),
)
