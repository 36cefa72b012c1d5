/**
 * The thread behind `sequencer.ts`: an HTTP server that accepts transactions in both forms and misbehaves on demand.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import { hash as starknetHash } from 'starknet'
import { defer } from '../../src/primitives/deferred.js'
import { asciiToFelt } from '../../src/serving/rollup/felt.js'
import { computeInvokeHash } from '../../src/serving/rollup/invokeHash.js'
import {
  invokeLimitsDefault,
  parseInvokeTransaction,
  toHashedFields,
} from '../../src/serving/rollup/invokeTransaction.js'
import type { Arrival, RawAnswer, Reaction, SequencerOrder, SequencerReport } from './sequencer.js'

interface Invoke {
  readonly version: '0x3'
  readonly sender_address: string
  readonly nonce: string
  readonly calldata: string[]
  readonly signature: string[]
  readonly tip: string
  readonly resource_bounds: Record<string, { max_amount: string; max_price_per_unit: string }>
  readonly paymaster_data: string[]
  readonly account_deployment_data: string[]
  readonly nonce_data_availability_mode: string | number
  readonly fee_data_availability_mode: string | number
  readonly proof_facts?: string[]
}

const port = parentPort
if (port === null) throw new Error('this file is the entry of a worker thread')

const arrivals: Arrival[] = []
/** Accepted transactions: identifying key → hash. */
const accepted = new Map<string, string>()
const asked: string[] = []
let said: RawAnswer[] = []
let next: Reaction[] = []
let always: Reaction = { kind: 'accept' }
let chainId: string | undefined
let reported = defer<void>()
let forgets = false
let boundPort = 0
let server = listen()
await new Promise((resolve) => server.once('listening', resolve))
boundPort = (server.address() as AddressInfo).port
port.postMessage({ port: boundPort })

port.on('message', async ({ id, order }: { id: number; order: SequencerOrder }) => {
  port.postMessage({ id, result: await obey(order) })
})

async function obey(order: SequencerOrder): Promise<SequencerReport | undefined> {
  switch (order.kind) {
    case 'react':
      next = [...(order.next ?? [])]
      always = order.always ?? { kind: 'accept' }
      reported.resolve()
      reported = defer()
      return undefined
    case 'hash':
      chainId = order.chainId
      return undefined
    case 'say':
      said = [...order.next]
      return undefined
    case 'forget':
      forgets = order.forgets
      return undefined
    case 'stop':
      await new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      })
      return undefined
    case 'start':
      server = listen()
      await new Promise((resolve) => server.once('listening', resolve))
      return undefined
    case 'report':
      return { arrivals, accepted: [...accepted].map(([key, hash]) => ({ key, hash })), asked }
  }
}

function listen() {
  return createServer((request, response) => {
    void answer(request, response).catch((error: Error) => {
      response.statusCode = 500
      response.end(JSON.stringify({ code: 'TEST_BUG', message: error.message }))
    })
  }).listen(boundPort, '127.0.0.1')
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = ''
  for await (const chunk of request) text += chunk
  const url = new URL(request.url ?? '/', 'http://sequencer')
  const isKnown = (hash: string) => {
    asked.push(hash)
    return [...accepted.values()].includes(hash)
  }
  if (url.pathname === '/feeder_gateway/get_transaction_status') {
    const status = isKnown(url.searchParams.get('transactionHash') ?? '') ? 'ACCEPTED_ON_L2' : 'NOT_RECEIVED'
    return sendRaw(response, said.shift()) ? undefined : send(response, 200, { tx_status: status })
  }
  const body = JSON.parse(text)
  if (url.pathname === '/gateway/add_transaction') return take(response, body, 'gateway', 1)
  if (body.method.endsWith('_getTransactionStatus')) {
    const outcome = isKnown(body.params.transaction_hash)
      ? { result: { finality_status: 'ACCEPTED_ON_L2', execution_status: 'SUCCEEDED' } }
      : { error: { code: 29, message: 'Transaction hash not found' } }
    if (sendRaw(response, said.shift())) return
    return send(response, 200, { jsonrpc: '2.0', id: body.id, ...outcome })
  }
  const read = reads[body.method.replace(/^[^_]*_/, '')]
  if (read !== undefined) {
    if (sendRaw(response, said.shift())) return
    return send(response, 200, { jsonrpc: '2.0', id: body.id, ...read(body.params) })
  }
  return take(response, body.params.invoke_transaction, 'rpc', body.id)
}

const sierraClass = {
  sierra_program: ['0x1'],
  contract_class_version: '0.1.0',
  entry_points_by_type: { CONSTRUCTOR: [], EXTERNAL: [], L1_HANDLER: [] },
}

const hashes = [
  'block_hash',
  'parent_hash',
  'new_root',
  'sequencer_address',
  'event_commitment',
  'transaction_commitment',
  'receipt_commitment',
  'state_diff_commitment',
]
const prices = ['l1_gas_price', 'l2_gas_price', 'l1_data_gas_price']
const counts = ['event_count', 'transaction_count', 'state_diff_length']
const block = {
  ...Object.fromEntries(hashes.map((name, at) => [name, `0x${(at + 1).toString(16)}`])),
  ...Object.fromEntries(prices.map((name) => [name, { price_in_fri: '0x2', price_in_wei: '0x1' }])),
  ...Object.fromEntries(counts.map((name) => [name, 0])),
  block_number: 7,
  timestamp: 1_700_000_000,
  l1_da_mode: 'BLOB',
  status: 'ACCEPTED_ON_L2',
  transactions: [],
}

const receipt = {
  type: 'INVOKE',
  finality_status: 'ACCEPTED_ON_L2',
  execution_status: 'SUCCEEDED',
  actual_fee: { amount: '0x60', unit: 'FRI' },
  events: [],
  messages_sent: [],
  execution_resources: { l1_gas: 0, l1_data_gas: 0, l2_gas: 16 },
  block_hash: '0x1',
  block_number: 7,
}

/**
 * Answers to reads, by method without its prefix, in the form of Starknet's specification: clients refuse any other.
 */
const reads: Readonly<Record<string, (params: Record<string, unknown>) => object>> = {
  blockNumber: () => ({ result: 7 }),
  getNonce: ({ block_id, contract_address }) =>
    block_id === 'latest' || block_id === 'pre_confirmed' || block_id === 'pending'
      ? {
          result: `0x${arrivals.filter(({ transaction }) => Number((transaction as Invoke).sender_address) === Number(contract_address)).length.toString(16)}`,
        }
      : { error: { code: 24, message: 'Block not found' } },
  getClassAt: ({ contract_address }) =>
    contract_address === '0x99'
      ? { error: { code: 20, message: 'Contract not found' } }
      : { result: { ...sierraClass, abi: JSON.stringify([contract_address]) } },
  estimateFee: ({ request, simulation_flags }) => {
    const prices = ['l1_gas', 'l2_gas', 'l1_data_gas'].flatMap((gas) => [
      [`${gas}_consumed`, '0x10'],
      [`${gas}_price`, '0x2'],
    ])
    const overall_fee = String(simulation_flags) === 'SKIP_VALIDATE' ? '0x50' : '0x60'
    const fee = { ...Object.fromEntries(prices), overall_fee, unit: 'FRI' }
    return { result: (request as object[]).map(() => fee) }
  },
  getBlockWithTxs: ({ block_id }) => ({ result: { ...block, starknet_version: JSON.stringify(block_id) } }),
  getTransactionReceipt: ({ transaction_hash }) =>
    [...accepted.values()].includes(String(transaction_hash))
      ? { result: { ...receipt, transaction_hash } }
      : { error: { code: 29, message: 'Transaction hash not found', data: 'none' } },
}

async function take(
  response: ServerResponse,
  tx: Invoke,
  form: 'rpc' | 'gateway',
  id: unknown,
): Promise<void> {
  const reaction = next.shift() ?? always
  const key = `${tx.sender_address}/${tx.nonce}/${tx.calldata.join(',')}`
  arrivals.push({ key, reaction: reaction.kind, form, transaction: tx, atMs: performance.now() })
  const refuse = (code: number, message: string, data?: unknown) =>
    form === 'rpc'
      ? send(response, 200, { jsonrpc: '2.0', id, error: { code, message, data } })
      : send(response, 400, { code: gatewayNames[code], message })
  if (reaction.kind === 'dropBefore') return void response.destroy()
  if (reaction.kind === 'stall') await setTimeout(reaction.ms)
  if (reaction.kind === 'hold') await reported.promise
  if (reaction.kind === 'status') return void sendRaw(response, reaction)
  if (reaction.kind === 'error') return refuse(reaction.code, reaction.message, reaction.data)
  if (reaction.kind === 'gatewayError') return send(response, reaction.status, reaction)
  if (reaction.kind === 'verify' && tx.signature[0] !== '0x1') return refuse(55, 'Account validation failed')
  if (accepted.has(key)) {
    return forgets
      ? refuse(52, 'Invalid transaction nonce')
      : refuse(59, 'A transaction with the same hash already exists in the mempool')
  }
  const hash = chainId === undefined ? ownHashOf(tx) : hashOf(tx, chainId)
  accepted.set(key, hash)
  if (reaction.kind === 'dropAfter') return void response.destroy()
  if (form === 'gateway') {
    return send(response, 200, { code: 'TRANSACTION_RECEIVED', transaction_hash: hash })
  }
  return send(response, 200, { jsonrpc: '2.0', id, result: { transaction_hash: hash } })
}

const gatewayNames: Readonly<Record<number, string>> = {
  52: 'StarknetErrorCode.INVALID_TRANSACTION_NONCE',
  59: 'StarknetErrorCode.DUPLICATED_TRANSACTION',
}

/** Hash by this project's code, for SN_SEPOLIA, for tests of other things than the hash; only of the form `rpc`. */
function ownHashOf(tx: Invoke): string {
  const fields = toHashedFields(parseInvokeTransaction(tx, invokeLimitsDefault))
  return computeInvokeHash({ chainId: asciiToFelt('SN_SEPOLIA'), fields })
}

/** Hash by starknet.js, so that both sides cannot share a mistake. */
function hashOf(tx: Invoke, chain: string): string {
  const bound = (name: string) => {
    const written = tx.resource_bounds[name] ?? tx.resource_bounds[name.toUpperCase()]
    return {
      max_amount: BigInt(written?.max_amount ?? 0),
      max_price_per_unit: BigInt(written?.max_price_per_unit ?? 0),
    }
  }
  const mode = (value: string | number) => (value === 'L2' || value === 1 ? 1 : 0)
  return starknetHash.calculateInvokeTransactionHash({
    senderAddress: tx.sender_address,
    version: tx.version,
    compiledCalldata: tx.calldata,
    chainId: chain as never,
    nonce: tx.nonce,
    accountDeploymentData: tx.account_deployment_data,
    nonceDataAvailabilityMode: mode(tx.nonce_data_availability_mode),
    feeDataAvailabilityMode: mode(tx.fee_data_availability_mode),
    resourceBounds: {
      l1_gas: bound('l1_gas'),
      l2_gas: bound('l2_gas'),
      l1_data_gas: bound('l1_data_gas'),
    },
    tip: tx.tip,
    paymasterData: tx.paymaster_data,
    ...(tx.proof_facts && { proofFacts: tx.proof_facts }),
  })
}

/** Returns false if there is nothing to send. */
function sendRaw(response: ServerResponse, raw: RawAnswer | undefined): boolean {
  if (raw === undefined) return false
  response.writeHead(raw.status, raw.headers)
  response.end(raw.body)
  return true
}

function send(response: ServerResponse, status: number, value: unknown): void {
  response.statusCode = status
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(value))
}
