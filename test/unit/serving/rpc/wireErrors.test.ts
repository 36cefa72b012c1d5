import t from 'tap'
import type { Fault } from '../../../../src/primitives/faults.js'
import { FaultError } from '../../../../src/primitives/faults.js'
import {
  type Defect,
  faultToHttpStatus,
  faultToWireError,
  renderErrorAnswer,
  thrownToWireError,
} from '../../../../src/serving/rpc/answers/wireErrors.js'

/** One example of every kind with its form on the wire; a kind without one does not compile. */
const examples: { [K in Fault['kind']]: [Extract<Fault, { kind: K }>, number, string, unknown?] } = {
  ParseError: [{ kind: 'ParseError' }, -32700, 'parse error'],
  InvalidRequest: [{ kind: 'InvalidRequest', why: 'x' }, -32600, 'invalid request: x'],
  EmptyBatch: [{ kind: 'EmptyBatch' }, -32600, 'empty batch'],
  BatchTooLarge: [{ kind: 'BatchTooLarge', id: undefined }, -32600, 'batch too large'],
  MethodNotFound: [
    { kind: 'MethodNotFound', method: 'eth_x' },
    -32601,
    'the method eth_x does not exist/is not available',
  ],
  NotOpen: [
    { kind: 'NotOpen', network: 'main', why: 'no upstream answers' },
    -32000,
    'network main has no block yet: no upstream answers',
  ],
  NotificationsNotSupported: [{ kind: 'NotificationsNotSupported' }, -32601, 'notifications not supported'],
  SubscriptionNotFound: [
    { kind: 'SubscriptionNotFound', name: 'new"Heads' },
    -32601,
    'no "new\\"Heads" subscription in eth namespace',
  ],
  SubscriptionIdNotFound: [{ kind: 'SubscriptionIdNotFound' }, -32000, 'subscription not found'],
  InvalidBlockRange: [{ kind: 'InvalidBlockRange' }, -32602, 'invalid block range params'],
  PendingLogsNotSupported: [{ kind: 'PendingLogsNotSupported' }, -32602, 'pending logs are not supported'],
  BlockRangeInFuture: [
    { kind: 'BlockRangeInFuture' },
    -32602,
    'block range extends beyond current head block',
  ],
  UnknownBlock: [{ kind: 'UnknownBlock' }, -32000, 'unknown block'],
  FilterNotFound: [{ kind: 'FilterNotFound' }, -32000, 'filter not found'],
  TooMuchFilterMemory: [
    { kind: 'TooMuchFilterMemory', whose: 'this API key', max: 300_000 },
    -32005,
    'limit exceeded: the filters of this API key may take 300000 bytes, 2000 each and 200 for each address and topic; uninstall some',
    { limit: 300_000 },
  ],
  CursorLeft: [
    { kind: 'CursorLeft', number: 0x3d1 },
    -32000,
    'the block of this cursor left the chain; drop everything above block 0x3d1, and start again there',
    0x3d1,
  ],
  TooManyLogs: [
    { kind: 'TooManyLogs', logsMax: 10_000, logBytesMax: 25_000_000, first: 3, last: 977 },
    -32005,
    'query returned more than 10000 results or 25000000 bytes. Try with this block range [0x3, 0x3d1].',
    [3, 977],
  ],
  TooManySubscriptions: [
    { kind: 'TooManySubscriptions', whose: 'on one connection', max: 1024 },
    -32005,
    'limit exceeded: at most 1024 subscriptions on one connection',
    { limit: 1024 },
  ],
  TooMuchSubscriptionMemory: [
    { kind: 'TooMuchSubscriptionMemory', whose: 'this API key', max: 200_000 },
    -32005,
    'limit exceeded: the subscriptions of this API key may take 200000 bytes, 2000 each and 100 for each address and topic of a filter; end some, or ask for fewer addresses and topics',
    { limit: 200_000 },
  ],
  MissingArgument: [{ kind: 'MissingArgument', index: 2 }, -32602, 'missing value for required argument 2'],
  InvalidArgument: [
    { kind: 'InvalidArgument', index: 0, why: 'it is odd' },
    -32602,
    'invalid argument 0: it is odd',
  ],
  TooManyArguments: [{ kind: 'TooManyArguments', max: 3 }, -32602, 'too many arguments, want at most 3'],
  ParamsNotArray: [{ kind: 'ParamsNotArray' }, -32602, 'non-array args: params must be an array'],
  UnknownArgument: [{ kind: 'UnknownArgument', name: 'a"b' }, -32602, 'unknown argument "a\\"b"'],
  StorageKeyTooLong: [
    { kind: 'StorageKeyTooLong', key: '0x00' },
    -32602,
    'storage key too long (want at most 32 bytes): "0x00"',
  ],
  StorageKeyNotHex: [{ kind: 'StorageKeyNotHex', key: 'zz' }, -32602, 'invalid hex in storage key: "zz"'],
  TooManyStorageKeys: [
    { kind: 'TooManyStorageKeys', max: 1024, got: 1025 },
    -32602,
    'too many storage keys requested (max 1024, got 1025)',
  ],
  NoSequencerToRead: [
    { kind: 'NoSequencerToRead' },
    -32000,
    'this network reads nothing from a sequencer; its operator can name a JSON-RPC endpoint in "upstream.readUrl" of the configuration',
  ],
  NotProved: [
    { kind: 'NotProved', why: 'an account of 5 items proves nothing' },
    -32000,
    'an account of 5 items proves nothing',
  ],
  UpstreamsFailed: [
    { kind: 'UpstreamsFailed', why: 'no upstream gave block 7 (a: no answer in time)' },
    -32000,
    'no upstream gave block 7 (a: no answer in time)',
  ],
  NoUpstreamToSendTo: [
    { kind: 'NoUpstreamToSendTo' },
    -32000,
    'this network has no upstream to send transactions to; its operator can follow a node (--follow) or serve a gateway (--upstream)',
  ],
  UpstreamError: [
    { kind: 'UpstreamError', code: -32010, message: 'nonce too low', data: { nonce: 7 } },
    -32010,
    'nonce too low',
    { nonce: 7 },
  ],
  SequencerUnanswered: [
    { kind: 'SequencerUnanswered', why: 'ECONNREFUSED' },
    -32000,
    'the sequencer did not answer: ECONNREFUSED',
  ],
  SentNotMined: [
    { kind: 'SentNotMined', waitMs: 1_500, hash: Uint8Array.of(1, 2) },
    4,
    "The transaction was added to the transaction pool but wasn't processed in 1.5s",
    '0x0102',
  ],
  SequencerError: [
    { kind: 'SequencerError', code: 24, message: 'Block not found', data: { block: 7 } },
    24,
    'Block not found',
    { block: 7 },
  ],
  FeeHistoryRefused: [{ kind: 'FeeHistoryRefused', why: 'beyond head' }, -32000, 'beyond head'],
  EmptyRequest: [{ kind: 'EmptyRequest' }, -32602, 'empty request'],
  TooManySlots: [{ kind: 'TooManySlots', max: 1024 }, -38026, 'too many slots (max 1024)'],
  BothBlockHashAndNumber: [
    { kind: 'BothBlockHashAndNumber' },
    -32602,
    'cannot specify both BlockHash and BlockNumber, choose one or the other',
  ],
  InvalidPin: [
    { kind: 'InvalidPin', got: 'number' },
    -32602,
    'invalid at: want "latest" or a block hash (0x and 64 hex digits), got number',
  ],
  SafeTagNotSupported: [
    { kind: 'SafeTagNotSupported', index: 2 },
    -32602,
    'invalid argument 2: the safe tag is not supported on this network, use finalized',
  ],
  MarkerMissing: [{ kind: 'MarkerMissing', tag: 'safe' }, -32000, 'safe block not found'],
  HeaderNotFound: [
    { kind: 'HeaderNotFound', block: 8, head: 7 },
    -32000,
    'header not found: there is no block 0x8 yet, and the head is 0x7',
  ],
  HeaderForHashNotFound: [{ kind: 'HeaderForHashNotFound' }, -32000, 'header for hash not found'],
  HashNotCanonical: [{ kind: 'HashNotCanonical' }, -32000, 'hash is not currently canonical'],
  StateNotAvailable: [
    { kind: 'StateNotAvailable', stateRoot: '0xab' },
    -32000,
    'historical state 0xab is not available',
  ],
  NoState: [{ kind: 'NoState' }, -32000, 'this network holds no state'],
  NoAccountHistory: [
    { kind: 'NoAccountHistory' },
    -32000,
    'this network does not hold when accounts changed',
  ],
  NoReceipts: [{ kind: 'NoReceipts' }, -32000, 'this network holds no receipts'],
  NoAccumulator: [
    { kind: 'NoAccumulator', number: 8_200 },
    -32000,
    'block 0x2008 is in no epoch that was checked against an accumulator',
  ],
  HistoryPruned: [
    { kind: 'HistoryPruned', oldest: 26 },
    4444,
    'pruned history unavailable: the oldest block kept is 0x1a',
  ],
  ResourceNotFound: [{ kind: 'ResourceNotFound', why: 'no such block' }, -32001, 'no such block'],
  ExecutionReverted: [
    { kind: 'ExecutionReverted', reason: 'no', data: Uint8Array.of(1, 2) },
    3,
    'execution reverted: no',
    '0x0102',
  ],
  GasExceedsAllowance: [
    { kind: 'GasExceedsAllowance', allowance: 21000n },
    -32000,
    'gas required exceeds allowance (21000)',
  ],
  SimulationRefused: [
    { kind: 'SimulationRefused', rule: 'funds', why: 'err: insufficient funds' },
    -38014,
    'err: insufficient funds',
  ],
  ExecutionTimedOut: [
    { kind: 'ExecutionTimedOut', limitSeconds: 5 },
    -32000,
    'execution aborted (timeout = 5s)',
  ],
  MessageRefused: [{ kind: 'MessageRefused', why: 'it is odd' }, -32000, 'it is odd'],
  ExecutionFailed: [{ kind: 'ExecutionFailed', why: 'out of gas' }, -32000, 'out of gas'],
  ExecutionOutOfMemory: [
    { kind: 'ExecutionOutOfMemory', limitBytes: 2 ** 28 },
    -32000,
    'execution aborted (memory limit = 256 MiB)',
  ],
  TraceTooLarge: [
    { kind: 'TraceTooLarge', limitBytes: 1_000, isWhole: true },
    -32003,
    'response too large: the trace has more than 1000 bytes; trace less at once, or ask alone over HTTP, which sends traces in parts',
  ],
  ResponseTooLarge: [{ kind: 'ResponseTooLarge' }, -32003, 'response too large'],
  RequestTimedOut: [{ kind: 'RequestTimedOut' }, -32002, 'request timed out'],
  Unauthorized: [{ kind: 'Unauthorized', why: 'key revoked' }, -32001, 'unauthorized: key revoked'],
  MethodNotAllowed: [
    { kind: 'MethodNotAllowed', method: 'eth_x' },
    -32004,
    'method eth_x is not allowed for this API key',
  ],
  NetworkNotAllowed: [
    { kind: 'NetworkNotAllowed', network: 'main' },
    -32004,
    'network main is not allowed for this API key',
  ],
  LimitExceeded: [
    { kind: 'LimitExceeded', what: 'requests per second', limit: 10, retryAfterMs: 500 },
    -32005,
    'limit exceeded: requests per second',
    { limit: 10, retryAfterMs: 500 },
  ],
  ServerBusy: [{ kind: 'ServerBusy', retryAfterMs: 1000 }, -32005, 'server busy', { retryAfterMs: 1000 }],
  InvokeRefused: [
    { kind: 'InvokeRefused', code: 55, text: 'bad signature' },
    55,
    'Account validation failed',
    'bad signature',
  ],
  TransactionHashNotFound: [{ kind: 'TransactionHashNotFound' }, 29, 'Transaction hash not found'],
  SubmissionsFull: [
    { kind: 'SubmissionsFull', what: '3 transactions wait for the sequencer', retryAfterMs: 1000 },
    -32005,
    'server busy: 3 transactions wait for the sequencer; this transaction was not taken',
    { retryAfterMs: 1000 },
  ],
  SubmissionsUnread: [
    { kind: 'SubmissionsUnread', retryAfterMs: 1000 },
    -32000,
    'submitted transactions cannot be read at the moment; ask again later',
    { retryAfterMs: 1000 },
  ],
  NotStored: [
    { kind: 'NotStored', retryAfterMs: 1000 },
    -32000,
    'this transaction could not be stored; send it again later',
    { retryAfterMs: 1000 },
  ],
}

t.test('a transaction whose commit nobody confirmed may have been stored', async (t) => {
  t.match(faultToWireError({ kind: 'NotStored', retryAfterMs: 500, isUnsure: true }), {
    code: -32000,
    message: 'this transaction may have been stored; ask for its status, or send it again',
  })
})

t.test('who asked for a trace over HTTP is not told to do so', async (t) => {
  const { message } = faultToWireError({ kind: 'TraceTooLarge', limitBytes: 9 })
  t.match(message, /; trace less at once$/)
})

t.test('every fault has its code and wording', async (t) => {
  for (const [fault, code, message, data] of Object.values(examples)) {
    t.same(
      faultToWireError(fault),
      data === undefined ? { code, message } : { code, message, data },
      fault.kind,
    )
  }
  t.equal(
    faultToWireError({ kind: 'ExecutionReverted', reason: undefined, data: new Uint8Array() }).message,
    'execution reverted',
  )
})

t.test('only limits and access change the HTTP status of a single answer', async (t) => {
  t.same(faultToHttpStatus({ kind: 'ServerBusy', retryAfterMs: 9 }), { status: 503, retryAfterMs: 9 })
  t.equal(faultToHttpStatus({ kind: 'LimitExceeded', what: 'x', limit: 1, retryAfterMs: 9 }).status, 429)
  t.equal(faultToHttpStatus({ kind: 'HeaderNotFound' }).status, 200)
  t.equal(faultToHttpStatus({ kind: 'InvokeRefused', code: 59, text: undefined }).status, 200)
  t.equal(faultToHttpStatus({ kind: 'SubmissionsFull', what: 'x', retryAfterMs: 9 }).status, 503)
  t.equal(faultToHttpStatus({ kind: 'NotStored', retryAfterMs: 9 }).status, 503)
})

t.test('a defect shows an id and nothing else, and the log gets both', async (t) => {
  const logged: Defect[] = []
  const error = new Error('secret in /etc/passwd')
  const wire = thrownToWireError(error, 'eth_x', (defect) => logged.push(defect))
  t.equal(wire.code, -32603)
  t.equal(wire.message, 'internal error')
  t.notMatch(renderErrorAnswer('1', wire), /secret|passwd|at /)
  t.equal(logged.length, 1)
  t.equal(logged[0]?.error, error)
  t.equal(logged[0]?.where, 'eth_x')
  t.same(wire.data, { id: logged[0]?.id })
  t.match(logged[0]?.id, /^[0-9a-f]{16}$/)
})

t.test('a fault that was thrown is no defect', async (t) => {
  const wire = thrownToWireError(new FaultError({ kind: 'HeaderNotFound' }), 'eth_x', () => t.fail('logged'))
  t.same(wire, { code: -32000, message: 'header not found' })
})
