/** Questions to all methods that read a chain, by number, hash and tag. */
import type { Dice } from '../library/property.js'
import type { Question } from './endpoint.js'
import { type FactBlock, type Facts, quantity } from './facts.js'

const unknownHash = `0x${'12'.repeat(32)}`
const tags = ['latest', 'earliest', 'pending', 'safe', 'finalized', quantity(2 ** 40)]
const slots = [0, 1, 2, 3].map((slot) => `0x${slot.toString(16).padStart(64, '0')}`)

const ask = (method: string, ...params: readonly unknown[]): Question => ({ method, params })

/** Questions about the chain as a whole. */
function ofChain({ head }: Facts): Question[] {
  const plain = [
    ...['eth_chainId', 'eth_blockNumber', 'eth_gasPrice', 'eth_maxPriorityFeePerGas', 'eth_blobBaseFee'],
    ...['eth_config', 'eth_syncing', 'eth_accounts', 'net_version', 'eth_coinbase', 'eth_protocolVersion'],
  ]
  return [
    ...plain.map((method) => ask(method)),
    ask('web3_sha3', '0x1234'),
    ...[head, Math.floor(head / 2), 3].flatMap((newest) => [
      ask('eth_feeHistory', quantity(4), quantity(newest), [0, 10.5, 50, 100]),
      ask('eth_feeHistory', quantity(1_000), quantity(newest), []),
      ask('eth_feeHistory', 2, quantity(newest), [50, 10]),
    ]),
    ask('eth_feeHistory', '0x0', 'latest', []),
    ask('eth_feeHistory', '0x2', quantity(head + 1), []),
  ]
}

/** Questions about a block, which is given by a number, a tag or a hash in an object. */
function ofNamed(block: unknown): Question[] {
  const byName = ['eth_getBlockReceipts', 'debug_getRawHeader', 'debug_getRawBlock', 'debug_getRawReceipts']
  return byName.map((method) => ask(method, block))
}

function ofNumber(number: string): Question[] {
  return [
    ask('eth_getBlockByNumber', number, true),
    ask('eth_getBlockByNumber', number, false),
    ask('eth_getHeaderByNumber', number),
    ask('eth_getBlockTransactionCountByNumber', number),
    ask('eth_getUncleCountByBlockNumber', number),
    ask('eth_getUncleByBlockNumberAndIndex', number, '0x0'),
    ask('eth_getTransactionByBlockNumberAndIndex', number, '0x0'),
    ask('eth_getRawTransactionByBlockNumberAndIndex', number, '0x1'),
    ...ofNamed(number),
  ]
}

function ofHash(hash: string): Question[] {
  return [
    ask('eth_getBlockByHash', hash, true),
    ask('eth_getBlockByHash', hash, false),
    ask('eth_getHeaderByHash', hash),
    ask('eth_getBlockTransactionCountByHash', hash),
    ask('eth_getUncleCountByBlockHash', hash),
    ask('eth_getUncleByBlockHashAndIndex', hash, '0x0'),
    ask('eth_getTransactionByBlockHashAndIndex', hash, '0x1'),
    ask('eth_getRawTransactionByBlockHashAndIndex', hash, '0x0'),
    ask('eth_getLogs', { blockHash: hash }),
    ...ofNamed({ blockHash: hash }),
  ]
}

function ofTransaction(hash: string): Question[] {
  const methods = ['eth_getTransactionByHash', 'eth_getTransactionReceipt', 'eth_getRawTransactionByHash']
  return [...methods, 'debug_getRawTransaction'].map((method) => ask(method, hash))
}

function ofAccount(address: string, block: unknown): Question[] {
  return [
    ask('eth_getBalance', address, block),
    ask('eth_getTransactionCount', address, block),
    ask('eth_getCode', address, block),
    ask('eth_getProof', address, slots.slice(0, 3), block),
    ...slots.map((slot) => ask('eth_getStorageAt', address, slot, block)),
    ask('eth_getStorageAt', address, '0x1', block),
    ask('eth_getStorageValues', { [address]: slots }, block),
  ]
}

function ofState(facts: Facts, dice: Dice): Question[] {
  const { withState, addresses } = facts
  const names = (block: FactBlock) => [quantity(block.number), { blockHash: block.hash }, block.hash]
  const each = withState.flatMap((block) =>
    dice
      .times(4, () => {
        const address = addresses[dice.throw(addresses.length)] ?? unknownHash.slice(0, 42)
        return ofAccount(address, names(block)[dice.throw(3)])
      })
      .flat(),
  )
  const [address = `0x${'0'.repeat(40)}`] = addresses
  return [
    ...each,
    ...[...tags, { blockHash: unknownHash }].flatMap((tag) => ofAccount(address, tag)),
    ...ofAccount(`0x${'ee'.repeat(20)}`, 'latest'),
    ...withState.flatMap(({ number, hash }) => [
      ask('debug_storageRangeAt', hash, 0, addresses[dice.throw(addresses.length)] ?? address, '0x', 5),
      ask('debug_accountRange', quantity(number), '0x', 5, true, true, false),
      ask('debug_getModifiedAccountsByNumber', number),
      ask('debug_getModifiedAccountsByHash', hash),
      ask('debug_executionWitness', quantity(number)),
    ]),
  ]
}

function ofLogs({ head, logs }: Facts, dice: Dice): Question[] {
  const filters = dice.times(30, () => {
    const from = dice.throw(head + 1)
    const log = logs[dice.throw(Math.max(1, logs.length))]
    const other = logs[dice.throw(Math.max(1, logs.length))]
    return {
      fromBlock: quantity(from),
      toBlock: quantity(Math.min(head, from + dice.throw(200))),
      ...(dice.throw(2) === 0 ? { address: log?.address } : {}),
      ...(dice.throw(3) === 0 ? { topics: [dice.throw(2) === 0 ? null : (log?.topics ?? null)] } : {}),
      ...(dice.throw(4) === 0 ? { topics: [[log?.topics[0] ?? null, other?.topics[0] ?? null]] } : {}),
    }
  })
  const odd = [
    {},
    { fromBlock: 'earliest', toBlock: 'latest' },
    { fromBlock: quantity(head), toBlock: quantity(1) },
    { fromBlock: quantity(head + 5), toBlock: quantity(head + 9) },
    { blockHash: unknownHash },
    { blockHash: unknownHash, fromBlock: '0x1' },
    { fromBlock: 'pending', toBlock: 'pending' },
    { topics: [null, null, null, null, null] },
  ]
  return [...filters, ...odd].map((filter) => ask('eth_getLogs', filter))
}

export function readQuestions(facts: Facts, dice: Dice): Question[] {
  const hashes = facts.blocks.flatMap(({ transactions }) => transactions.map(({ hash }) => hash))
  return [
    ...ofChain(facts),
    ...facts.blocks.flatMap(({ number, hash }) => [...ofNumber(quantity(number)), ...ofHash(hash)]),
    ...tags.flatMap(ofNumber),
    ...ofHash(unknownHash),
    ...[...hashes, unknownHash].flatMap(ofTransaction),
    ...ofState(facts, dice),
    ...ofLogs(facts, dice),
  ]
}
