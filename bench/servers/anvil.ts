/**
 * anvil with the demo chain: its state file is written from the answers of a Tidegate that serves the chain, and from
 * its store. Owns that file's format and the comparison of answers.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { headerFields } from '../../src/data/chain/header.js'
import { decodeAccount } from '../../src/data/state/account.js'
import { ChainReader } from '../../src/data/store/chainReader.js'
import { bytesToHex, padLeft, toQuantity } from '../../src/primitives/bytes.js'
import { anvilProgram } from '../../test/upstream/anvilProgram.js'
import type { BenchNetwork } from '../data/networks.js'
import { askResult } from '../load/rpc.js'
import { type ServerProcess, startServer } from './serverProcess.js'

type Json = Record<string, unknown>

/** Otherwise anvil's own accounts and contracts would be part of the state, and of every proof. */
const nothingElse = ['--accounts', '0', '--disable-default-create2-deployer']

/** Starts anvil with the state of `network`, which the server at `url` serves. anvil prints its port. */
export async function startAnvil(folder: string, network: BenchNetwork, url: string): Promise<ServerProcess> {
  const program = anvilProgram()
  if (program === undefined) {
    throw new Error(
      'the package @foundry-rs/anvil has no program for this machine; leave out --against anvil',
    )
  }
  const statePath = join(folder, 'anvil-state.json')
  const { state, chainId } = await buildState(network, url)
  writeFileSync(statePath, JSON.stringify(state))
  const flags = [
    ...['--port', '0', '--load-state', statePath, '--chain-id', chainId, '--hardfork', 'osaka'],
    ...nothingElse,
  ]
  return startServer([program, ...flags], /^Listening on 127\.0\.0\.1:(\d+)/)
}

async function buildState(network: BenchNetwork, url: string): Promise<{ state: Json; chainId: string }> {
  const store = ChainReader.open({ path: join(network.folder, 'chain.mdb') })
  try {
    const head = store.readHead()?.number ?? 0
    const blocks: Json[] = []
    const transactions: Json[] = []
    let newest: Json = {}
    for (let number = 0; number <= head; number++) {
      const tag = toQuantity(number)
      newest = (await askResult(url, 'eth_getBlockByNumber', [tag, true])) as Json
      blocks.push(toAnvilBlock(newest))
      const receipts = (await askResult(url, 'eth_getBlockReceipts', [tag])) as Json[]
      for (const [index, transaction] of (newest.transactions as Json[]).entries()) {
        transactions.push(toAnvilTransaction(transaction, receipts[index] as Json, newest))
      }
    }
    const state = {
      block: {
        number: newest.number,
        beneficiary: newest.miner,
        timestamp: newest.timestamp,
        gas_limit: Number(newest.gasLimit),
        basefee: Number(newest.baseFeePerGas),
        difficulty: newest.difficulty,
        prevrandao: newest.mixHash,
        blob_excess_gas_and_price: { excess_blob_gas: Number(newest.excessBlobGas), blob_gasprice: 1 },
        slot_num: 0,
      },
      accounts: readAccounts(store),
      best_block_number: head,
      blocks,
      transactions,
      historical_states: null,
    }
    return { state, chainId: store.readIdentity()?.chainId ?? '1' }
  } finally {
    await store.close()
  }
}

function readAccounts(store: ChainReader): Json {
  const accounts: Json = {}
  for (const [address, row] of store.accounts()) {
    const { nonce, balance, codeHash } = decodeAccount(row)
    const code = store.readCode(codeHash)
    const slots = [...store.slotsOf(address)].map(([slot, value]) => [
      bytesToHex(slot),
      bytesToHex(padLeft(value, 32)),
    ])
    accounts[bytesToHex(address)] = {
      nonce: Number(nonce),
      balance: `0x${balance.toString(16)}`,
      code: code === undefined ? '0x' : bytesToHex(code),
      storage: Object.fromEntries(slots),
    }
  }
  return accounts
}

function toAnvilBlock(block: Json): Json {
  const members = headerFields.filter((name) => block[name] !== undefined).map((name) => [name, block[name]])
  const transactions = (block.transactions as Json[]).map((transaction) => {
    const { blockHash, blockNumber, transactionIndex, from, ...signed } = transaction
    // With a fee cap, the gas price is computed and is not part of the transaction.
    if (signed.maxFeePerGas !== undefined) delete signed.gasPrice
    return { transaction: signed, impersonated_sender: null }
  })
  const withdrawals = block.withdrawals ?? null
  return { header: Object.fromEntries(members), transactions, ommers: [], withdrawals }
}

function toAnvilTransaction(transaction: Json, receipt: Json, block: Json): Json {
  const { type, root, status, cumulativeGasUsed, logs, logsBloom } = receipt
  const outcome = root === undefined ? { status } : { root }
  return {
    info: {
      transaction_hash: transaction.hash,
      transaction_index: Number(transaction.transactionIndex),
      from: transaction.from,
      to: transaction.to,
      contract_address: receipt.contractAddress,
      traces: [],
      exit: 'Stop',
      out: '0x',
      nonce: Number(transaction.nonce),
      gas_used: Number(receipt.gasUsed),
    },
    receipt: { type, ...outcome, cumulativeGasUsed, logs, logsBloom },
    block_hash: block.hash,
    block_number: Number(block.number),
  }
}

/**
 * Members with known differences. anvil has no total difficulty for a chain that it loaded, and drops withdrawals of
 * loaded blocks. It adds a time to receipts, and a blob gas price to receipts of transactions without blobs.
 */
const differingMembers: ReadonlySet<string> = new Set([
  'totalDifficulty',
  'withdrawals',
  'blockTimestamp',
  'blobGasPrice',
])

/** The first difference of two answers, as `path: mine, theirs`; undefined if they agree. */
export function findDifference(mine: unknown, theirs: unknown, path = ''): string | undefined {
  if (isObject(mine) && isObject(theirs)) {
    for (const key of new Set([...Object.keys(mine), ...Object.keys(theirs)])) {
      if (differingMembers.has(key)) continue
      const difference = findDifference(mine[key], theirs[key], `${path}.${key}`)
      if (difference !== undefined) return difference
    }
    return undefined
  }
  if (mine === theirs) return undefined
  const shown = (value: unknown) => (JSON.stringify(value) ?? 'nothing').slice(0, 120)
  return `${path}: ${shown(mine)}, ${shown(theirs)}`
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null
}
