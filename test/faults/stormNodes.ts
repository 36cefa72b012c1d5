/**
 * The nodes of a storm: the answers of an honest node from its view of the chain, and a lying node's changes of them.
 */

import { RLP } from '@ethereumjs/rlp'
import { getMerkleStateProof, type MerkleStateManager } from '@ethereumjs/statemanager'
import { createAddressFromString } from '@ethereumjs/util'
import type { TxReceipt } from '@ethereumjs/vm'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.js'
import type { Dice } from '../library/property.js'
import { fine, type NodeAnswer, type NodeCall, WeatherNode } from '../upstream/weatherNode.js'
import { ancestor, type StormBlock, type StormChain } from './stormChain.js'

/** A node's view of the chain. */
interface View {
  readonly tip: StormBlock
  /** Whether the view has a block, on its branch or off it. */
  has(block: StormBlock): boolean
}

/** Blocks below the head that nodes call safe and final: deeper than any reorganisation. */
const safeDepth = 70

const absent: NodeAnswer = { result: null }
const unknownMethod: NodeAnswer = { error: { code: -32601, message: 'the method does not exist' } }
const unknownBlock: NodeAnswer = { error: { code: -32000, message: 'header not found' } }

/** The block of a parameter, by number, tag, hash or EIP-1898; undefined if the node has none. */
function find(chain: StormChain, view: View, id: unknown): StormBlock | undefined {
  const { blockHash, blockNumber } = (id ?? {}) as Record<string, unknown>
  if (blockHash !== undefined || blockNumber !== undefined) return find(chain, view, blockHash ?? blockNumber)
  const { tip } = view
  if (id === 'latest' || id === 'pending' || id === undefined) return tip
  if (id === 'safe' || id === 'finalized') return ancestor(tip, tip.number - safeDepth)
  const text = String(id).toLowerCase()
  if (text.length !== 66) return ancestor(tip, Number(text))
  const block = chain.blocks.get(text)
  return block !== undefined && view.has(block) ? block : undefined
}

/** The answer of a node with this view. `hasRaw`: whether it has the `debug_getRaw…` methods. */
export async function answerFrom(
  chain: StormChain,
  view: View,
  hasRaw: boolean,
  { method, params }: NodeCall,
): Promise<NodeAnswer> {
  const [first, second, third] = params
  const stateAt = async (id: unknown, read: (state: MerkleStateManager) => Promise<unknown>) => {
    const block = find(chain, view, id)
    return block === undefined ? unknownBlock : { result: await chain.readState(block, read) }
  }
  const address = () => createAddressFromString(String(first))
  const raw = (make: (block: StormBlock) => unknown) => {
    if (!hasRaw) return unknownMethod
    const block = find(chain, view, first)
    return block === undefined ? unknownBlock : { result: make(block) }
  }
  switch (method) {
    case 'eth_chainId':
      return { result: quantity(JSON.parse(chain.maker.genesisText).config.chainId) }
    case 'debug_chainConfig':
      return { result: JSON.parse(chain.maker.genesisText).config }
    case 'eth_getBlockByNumber':
    case 'eth_getBlockByHash': {
      const block = find(chain, view, first)
      return block === undefined ? absent : { result: blockJson(block, second === true) }
    }
    case 'eth_getBlockReceipts': {
      const block = find(chain, view, first)
      return block === undefined ? absent : { result: receiptsJson(block) }
    }
    case 'eth_getTransactionByHash': {
      const homes = chain.homes.get(String(first).toLowerCase()) ?? []
      const home = homes.find((block) => ancestor(view.tip, block.number) === block)
      const mined = (home && (blockJson(home, true).transactions as { hash: string }[])) ?? []
      return { result: mined.find(({ hash }) => hash === String(first).toLowerCase()) ?? null }
    }
    case 'debug_getRawBlock':
      return raw(({ made }) => bytesToHex(made.rlp))
    case 'debug_getRawHeader':
      return raw(({ made }) => bytesToHex(RLP.encode((RLP.decode(made.rlp) as Uint8Array[])[0])))
    case 'debug_getRawReceipts':
      return raw(({ made }) => made.receipts.map(bytesToHex))
    case 'eth_getProof':
      return stateAt(third, (state) => {
        const keys = (second as readonly string[]).map((key) => hexToBytes(key.slice(2).padStart(64, '0')))
        return getMerkleStateProof(state, address(), keys)
      })
    case 'eth_getCode':
      return stateAt(second, async (state) => bytesToHex(await state.getCode(address())))
    case 'eth_getBalance':
      return stateAt(second, async (state) => quantity((await state.getAccount(address()))?.balance ?? 0n))
    case 'eth_getTransactionCount':
      return stateAt(second, async (state) => quantity((await state.getAccount(address()))?.nonce ?? 0n))
    default:
      return unknownMethod
  }
}

/** An honest node, which sees each step `lagSteps` later. */
export class HonestNode {
  readonly node: WeatherNode
  /** Number of polls for the head of the node so far. */
  polls = 0

  constructor(
    chain: StormChain,
    { lagSteps, hasRaw }: { readonly lagSteps: number; readonly hasRaw: boolean },
  ) {
    const view: View = {
      get tip() {
        return chain.tipAt(chain.step - lagSteps)
      },
      has: ({ isValid, bornAt }) => isValid && bornAt <= Math.max(chain.step - lagSteps, 0),
    }
    this.node = new WeatherNode((call) => {
      if (isPoll(call)) this.polls++
      return answerFrom(chain, view, hasRaw, call)
    })
    this.node.hasSockets = false
  }
}

export const lies = [
  /** Answers with another block than the requested one. */
  'wrongBlock',
  /** Has a block after the newest one, with right links and a wrong root. */
  'invalidBlock',
  /** Says that there is a block above the newest, which it does not have. */
  'ghost',
  /** Says the same of a block 1,000 blocks above. */
  'farGhost',
  /** Proves the state of another block than the requested one. */
  'otherState',
  /** HTTP status 429. */
  'busy',
  /** No answer, while the connection stays. */
  'silent',
] as const

export type Lie = (typeof lies)[number]

/** A node that is up to date, and tells the chosen lies. */
export class LyingNode {
  readonly node: WeatherNode
  readonly #chain: StormChain
  readonly #dice: Dice
  #lie: Lie = 'wrongBlock'
  /** The head of a node that lies by `invalidBlock`. */
  #invalid: StormBlock | undefined

  constructor(chain: StormChain, dice: Dice) {
    this.#chain = chain
    this.#dice = dice
    this.node = new WeatherNode((call) => this.#answer(call))
    this.node.hasSockets = false
    this.node.weather = () => {
      if (this.#lie === 'busy') return { kind: 'status', status: 429, headers: { 'retry-after': '1' } }
      return this.#lie === 'silent' ? { kind: 'silent' } : fine
    }
  }

  get lie(): Lie {
    return this.#lie
  }

  /** Changes the kind of lie. */
  async turnTo(lie: Lie): Promise<void> {
    this.#lie = lie
    await this.onStep()
  }

  /** Call it after each step. */
  async onStep(): Promise<void> {
    this.#invalid = this.#lie === 'invalidBlock' ? await this.#chain.makeInvalid() : undefined
  }

  async #answer(call: NodeCall): Promise<NodeAnswer> {
    const chain = this.#chain
    const invalid = this.#invalid
    const view: View = {
      tip: invalid ?? chain.tip,
      has: (block) => block === invalid || block.isValid,
    }
    const answer = (asked = call) => answerFrom(chain, view, true, asked)
    const { method, params } = call
    // Chain id and genesis are right: otherwise the node would get no further questions.
    if (params[0] === '0x0') return answer()
    switch (this.#lie) {
      case 'wrongBlock': {
        const isAboutBlock = /^(eth_getBlock|debug_getRaw)/.test(method) && !isPoll(call)
        const block = isAboutBlock ? find(chain, view, params[0]) : undefined
        const other = block?.parent ?? chain.tip
        return answer(isAboutBlock ? { method, params: [other.hash, ...params.slice(1)] } : call)
      }
      case 'ghost':
        return isPoll(call) ? { result: this.#ghost(1) } : answer()
      case 'farGhost':
        return isPoll(call) ? { result: this.#ghost(1_000) } : answer()
      case 'otherState': {
        const index = method === 'eth_getProof' ? 2 : 1
        if (!/^eth_get(Proof|Code|Balance|TransactionCount)$/.test(method)) return answer()
        const { orphans, tip } = chain
        const other = orphans[this.#dice.throw(orphans.length)] ?? ancestor(tip, tip.number >> 1) ?? tip
        return answer({ method, params: [...params.slice(0, index), other.hash] })
      }
      default:
        return answer()
    }
  }

  /** The header of a block that no node has. It stays the same for a step, like that of a real block. */
  #ghost(above: number): unknown {
    const { tip } = this.#chain
    const hash = `0x${(BigInt(tip.hash) ^ (1n << 255n) ^ BigInt(above)).toString(16).padStart(64, '0')}`
    const parentHash = above === 1 ? tip.hash : `0x${'9'.repeat(64)}`
    return { ...blockJson(tip, false), number: quantity(tip.number + above), hash, parentHash }
  }
}

function isPoll({ method, params }: NodeCall): boolean {
  return method === 'eth_getBlockByNumber' && params[0] === 'latest'
}

function quantity(value: number | bigint): string {
  return `0x${value.toString(16)}`
}

/** Names of header fields in JSON-RPC that differ from those of @ethereumjs. */
const names: Readonly<Record<string, string>> = {
  uncleHash: 'sha3Uncles',
  coinbase: 'miner',
  transactionsTrie: 'transactionsRoot',
  receiptTrie: 'receiptsRoot',
}

/** A block as nodes answer it, with its transactions or their hashes. */
function blockJson(
  { made, hash, number, moreMembers }: StormBlock,
  isFull: boolean,
): Record<string, unknown> {
  const { block } = made
  const fields = Object.entries(block.header.toJSON()).map(([name, value]) => [names[name] ?? name, value])
  const transactions = block.transactions.map((transaction, index) => {
    const txHash = bytesToHex(transaction.hash())
    if (!isFull) return txHash
    const { gasLimit, data, ...rest } = transaction.toJSON()
    return {
      ...rest,
      type: '0x0',
      gas: gasLimit,
      input: data,
      to: transaction.to?.toString() ?? null,
      from: String(transaction.getSenderAddress()),
      hash: txHash,
      blockHash: hash,
      blockNumber: quantity(number),
      transactionIndex: quantity(index),
    }
  })
  return { ...Object.fromEntries(fields), ...moreMembers, hash, transactions, uncles: [], withdrawals: [] }
}

function receiptsJson({ made, hash, number }: StormBlock): unknown {
  const receipts = (made.results?.receipts ?? []) as readonly (TxReceipt & {
    readonly status?: number | boolean
  })[]
  return receipts.map(({ cumulativeBlockGasUsed, bitvector, logs, status }, index) => ({
    type: '0x0',
    status: quantity(Number(status)),
    cumulativeGasUsed: quantity(cumulativeBlockGasUsed),
    logsBloom: bytesToHex(bitvector),
    logs: logs.map(([address, topics, data]) => ({
      address: bytesToHex(address),
      topics: topics.map(bytesToHex),
      data: bytesToHex(data),
    })),
    blockHash: hash,
    blockNumber: quantity(number),
    transactionIndex: quantity(index),
  }))
}
