/** Example arguments for methods, made from data of a network. */
import type { LastBlock, Playground } from '../shapes.js'
import { ask, callNetwork } from './api.js'
import type { Method, Param } from './schemas.js'

export interface Facts {
  readonly address: string
  readonly contract: string
  readonly slot: string
  /** Name of a variable of the contract, if the server has its layout. */
  readonly variable: string | undefined
  readonly blockNumber: number
  readonly blockHash: string
  readonly transaction: { readonly hash: string; readonly from: string; readonly nonce: number } | undefined
}

interface Transaction {
  readonly hash: string
  readonly from: string
  readonly to: string | null
  readonly nonce: string
  readonly blockNumber: string
  readonly blockHash: string
}

/** Calls a method as the playground does; resolves to its result. Rejects if there is none. */
type Call = (method: string, params: readonly unknown[]) => Promise<unknown>

/** Data of a network: for the demo network its example, for others data of the newest blocks. */
export async function readFacts({
  name,
  example,
}: Playground['networks'][number]): Promise<Facts | undefined> {
  const call: Call = async (method, params) => {
    const { answer } = await callNetwork(name, { method, params })
    return JSON.parse(answer).result
  }
  const found =
    example === null
      ? await newest(name, call)
      : await call('eth_getTransactionByHash', [example.transaction])
  if (found === undefined || found === null) return undefined
  const { hash, from, to, nonce, blockNumber, blockHash } = found as Transaction
  return {
    address: from,
    contract: example?.contract ?? to ?? from,
    slot: example?.slot ?? `0x${'0'.repeat(64)}`,
    variable: example?.variable,
    blockNumber: Number(blockNumber),
    blockHash,
    transaction: hash === '' ? undefined : { hash, from, nonce: Number(nonce) },
  }
}

/** The first transaction of the newest blocks; if they have none, data of the newest block. */
async function newest(name: string, call: Call): Promise<Transaction | undefined> {
  const blocks = await ask<LastBlock[]>(`api/networks/${name}/blocks`)
  const chosen = blocks.find(({ transactions }) => transactions !== null && transactions > 0) ?? blocks[0]
  if (chosen === undefined) return undefined
  const block = await call('eth_getBlockByHash', [chosen.hash, true])
  const { transactions, miner, number } = block as {
    transactions: Transaction[]
    miner: string
    number: string
  }
  return (
    transactions[0] ?? {
      hash: '',
      from: miner,
      to: null,
      nonce: '0x0',
      blockNumber: number,
      blockHash: chosen.hash,
    }
  )
}

/** Methods that change something, or that need data of few chains or of another call. */
const needsMore =
  /_(?:un)?subscribe|^eth_(?:send|sign|new|uninstall|getFilter)|personal_|_add|trace_rawTransaction|BlockAccessList|HeaderProof/

/** Arguments in order, without the optional ones; undefined if the method needs data that the network does not show. */
export function exampleParams({ name, params }: Method, facts: Facts): readonly unknown[] | undefined {
  if (needsMore.test(name)) return undefined
  const values = params.filter(({ required }) => required).map((param) => argumentOf(name, param, facts))
  return values.includes(undefined) ? undefined : values
}

const ofStorage = /storage|Storage|Mapping|Keys|Variable|Code$|Creator|debug_/

function argumentOf(method: string, { name, schema }: Param, facts: Facts): unknown {
  const { address, contract, slot, blockNumber, blockHash, transaction } = facts
  const call = { from: address, to: address }
  const number = `0x${blockNumber.toString(16)}`
  if (schema.title === 'log filter with pages' || schema.title === 'log filter') {
    return { fromBlock: number, toBlock: number }
  }
  const values: Readonly<Record<string, unknown>> = {
    block: /Raw|trace|Witness|Receipts|ots_/i.test(method) ? number : 'latest',
    newestBlock: 'latest',
    blockCount: '0x4',
    blockHash,
    hash: blockHash,
    startHash: blockHash,
    startNumber: blockNumber,
    blockNumber: 0,
    transactionHash: transaction?.hash,
    transactionIndex: 0,
    traceAddress: [],
    traceTypes: ['trace'],
    address: ofStorage.test(method) ? contract : address,
    sender: transaction?.from ?? address,
    nonce: method.startsWith('ots_')
      ? (transaction?.nonce ?? 0)
      : `0x${(transaction?.nonce ?? 0).toString(16)}`,
    call,
    transaction: { from: address, to: address, value: '0x1' },
    calls: [[call, ['trace']]],
    bundles: [{ transactions: [call] }],
    simulation: { blockStateCalls: [{ calls: [call] }] },
    filter: { fromBlock: number, toBlock: number },
    fullTransactions: false,
    index: '0x0',
    page: 0,
    pageSize: 5,
    start: '0x',
    count: 3,
    position: slot,
    slot,
    storageKeys: [slot],
    slots: { [contract]: [slot] },
    keys: method === 'tidegate_getStorageByKeys' ? [[address]] : [address],
    path: facts.variable ?? undefined,
    method: 'eth_getBalance',
    params: [address, 'latest'],
    data: '0x74696465',
    block_id: 'latest',
    contract_address: '0x71de',
  }
  return values[name]
}
