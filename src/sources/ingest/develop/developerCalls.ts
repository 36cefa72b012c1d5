/**
 * The calls of a developer chain: transactions, the waiting ones, and the methods of Hardhat, Foundry and Ganache that
 * change the chain. Owns the forms of their parameters and answers; `developer.ts` does the work.
 */
import { randomBytes } from 'node:crypto'
import { Chain } from '../../../data/chain/chain.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import {
  type Address,
  bytesOfHex,
  bytesToHex,
  type Hash32,
  toHash32,
  toQuantity,
  zeroAddress,
} from '../../../primitives/bytes.js'
import { FaultError, messageRefused } from '../../../primitives/faults.js'
import { isObject } from '../../../primitives/jsonType.js'
import {
  type Announced,
  coinbaseMethod,
  type DeveloperAction,
  headProofMethod,
  type PoolQuestion,
  type SigningMethod,
  type SourceCalls,
  type ToolPrefix,
} from '../../../primitives/upstreamCalls.js'
import { anvilVersion, developerClientVersion } from '../../../primitives/version.js'
import { AccountSigning } from './accountSigning.js'
import type { BlockMaker } from './blockMaker.js'
import { type ChainClock, clockSeconds } from './chainClock.js'
import type { Developer } from './developer.js'
import {
  addressOf,
  baseOf,
  integer,
  invalid,
  placedTransactions,
  quantity,
  word,
  wordBytes,
} from './developParams.js'
import { refuseAction } from './refusedActions.js'
import type { AccountByHand } from './stateByHand.js'
import { parseDump } from './stateDump.js'

/** Most blocks that a reorganisation replaces; each has a flush of its own. */
const reorganisedMax = 1_000
/**
 * Limit in seconds of a step, of all steps together, and of a given timestamp: far beyond any test, and exact in a
 * double.
 */
const secondsMax = 2 ** 40
/** An hour, as in the configuration. Milliseconds as for Hardhat, read as seconds, are mostly above it. */
const intervalSecondsMax = 3_600
/** Largest nonce (EIP-2681). */
const nonceMax = 2n ** 64n - 2n
/** Least gas limit of a block (yellow paper 4.4.4). */
const gasLimitMin = 5_000n

/** Calls reject with FaultError for a caller's fault, and with OperatorError if no blocks can be made. */
export class DeveloperCalls implements SourceCalls {
  readonly #developer: Developer
  readonly #store: ChainWriter
  readonly #maker: BlockMaker
  readonly #clock: ChainClock
  readonly #signing: AccountSigning
  /** Differs after each start. */
  readonly #instanceId = bytesToHex(randomBytes(32))

  /** `accounts`: number of accounts of the well-known mnemonic that the chain signs for. */
  constructor(developer: Developer, accounts: number) {
    this.#developer = developer
    this.#store = developer.store
    this.#maker = developer.maker
    this.#clock = developer.clock
    this.#signing = new AccountSigning(developer, accounts)
  }

  send(raw: Uint8Array): Promise<Hash32> {
    return this.#developer.send(raw)
  }

  async pending(hash: Hash32): Promise<Uint8Array | undefined> {
    return this.#maker.waiting.find(hash)
  }

  async waiting(sender: Address, next: bigint): Promise<number> {
    await this.#developer.know(() => sender)
    return this.#maker.waiting.countFrom(sender, next)
  }

  async pool(question: PoolQuestion, sender: Address | undefined): Promise<Uint8Array> {
    return this.#maker.waiting.poolJson(question, sender)
  }

  announced(after: number | undefined, waitMs: number): Promise<Announced> {
    return this.#developer.announcements.since(after, waitMs)
  }

  async relay(method: string, json: string): Promise<string> {
    if (method === headProofMethod) return 'null'
    const params = JSON.parse(json)
    if (!Array.isArray(params)) throw new FaultError({ kind: 'ParamsNotArray' })
    const answer = await this.#relayed(method, params)
    await this.#developer.refreshPending()
    return JSON.stringify(answer)
  }

  async #relayed(method: string, params: readonly unknown[]): Promise<unknown> {
    const { methods } = this.#signing
    if (method in methods) return methods[method as SigningMethod](params)
    if (method === coinbaseMethod) return this.#store.readByHand()?.next?.coinbase ?? bytesToHex(zeroAddress)
    const end = method.indexOf('_')
    const tool = method.slice(0, end) as ToolPrefix
    const action = method.slice(end + 1) as DeveloperAction
    return this.#actions[action](params, tool)
  }

  /** `tool`: prefix of the method's name, which decides the form of the answer. */
  readonly #actions: Readonly<
    Record<DeveloperAction, (params: readonly unknown[], tool: ToolPrefix) => unknown>
  > = {
    mine: async (params, tool) => {
      if (tool !== 'evm') {
        await this.#mineAs(params)
        return doneAs(tool)
      }
      const [options] = params
      const { timestamp, blocks } = isObject(options) ? options : { timestamp: options }
      const count = integer(blocks ?? 1, this.#developer.limits.minedBlocksMax)
      // Some clients send an omitted argument as null.
      if (timestamp !== undefined && timestamp !== null) await this.#setNext(timestamp)
      await this.#developer.mine(count, 0)
      return '0x0'
    },
    increaseTime: async ([seconds]) => {
      // Blocks that were made faster than seconds pass are ahead of the clock.
      const ahead = Math.max(this.#clock.aheadSeconds, Number(this.#maker.head.timestamp) - clockSeconds())
      await this.#developer.moveClock(ahead + integer(seconds, secondsMax - ahead))
      return this.#clock.aheadSeconds
    },
    setTime: async ([timestamp]) => {
      const wanted = integer(timestamp, secondsMax)
      this.#requireLater(wanted)
      await this.#developer.moveClock(wanted - clockSeconds())
      return this.#clock.aheadSeconds
    },
    setNextBlockTimestamp: async ([timestamp], tool) => {
      await this.#setNext(timestamp)
      return doneAs(tool)
    },
    snapshot: () => toQuantity(this.#developer.snapshots.take()),
    revert: ([id]) => this.#developer.revert(integer(id, Number.MAX_SAFE_INTEGER)),
    setBalance: async ([address, wei], tool) => {
      await this.#change(`${tool}_setBalance`, address, { balance: word(wei, 1) })
      return doneAs(tool)
    },
    addBalance: async ([address, wei], tool) => {
      await this.#developer.addBalance(addressOf(address), quantity(wei, 1))
      return doneAs(tool)
    },
    setNonce: async ([address, nonce], tool) => {
      const wanted = quantity(nonce, 1)
      if (wanted > nonceMax) throw invalid(`expected at most ${nonceMax}`, 1)
      await this.#change(`${tool}_setNonce`, address, { nonce: wanted })
      this.#maker.waiting.removePast()
      return doneAs(tool)
    },
    setCode: async ([address, hex], tool) => {
      const code = bytesOfHex(hex)
      if (code === undefined) throw invalid('expected code in hex', 1)
      await this.#change(`${tool}_setCode`, address, { code })
      return doneAs(tool)
    },
    setStorageAt: async ([address, slot, value], tool) => {
      const wanted = [toHash32(wordBytes(slot, 1)), wordBytes(value, 2)] as const
      await this.#change(`${tool}_setStorageAt`, address, { slots: [wanted] })
      return true
    },
    setCoinbase: async ([address], tool) => {
      await this.#developer.setNextBlock({ coinbase: bytesToHex(addressOf(address)) })
      return doneAs(tool)
    },
    setPrevRandao: async ([value], tool) => {
      await this.#developer.setNextBlock({ prevRandao: bytesToHex(wordBytes(value, 0)) })
      return doneAs(tool)
    },
    setNextBlockBaseFeePerGas: async ([wei], tool) => {
      const fee = toQuantity(word(wei, 0))
      if (this.#maker.head.baseFeePerGas === undefined) throw messageRefused('blocks have no base fee here')
      this.#developer.noteByHand(`${tool}_setNextBlockBaseFeePerGas ${fee}`)
      await this.#developer.setNextBlock({ baseFeePerGas: fee })
      return doneAs(tool)
    },
    setBlockGasLimit: async ([gas], tool) => {
      const limit = quantity(gas, 0)
      if (limit < gasLimitMin || limit > nonceMax) throw invalid(`expected ${gasLimitMin} to ${nonceMax}`, 0)
      this.#developer.noteByHand(`${tool}_setBlockGasLimit ${limit}`)
      await this.#developer.setNextBlock({ gasLimit: toQuantity(limit) })
      return true
    },
    impersonateAccount: ([address], tool) => {
      this.#signing.impersonate(addressOf(address))
      return doneAs(tool)
    },
    stopImpersonatingAccount: ([address], tool) => {
      const isStopped = this.#signing.stopImpersonating(addressOf(address))
      return tool === 'hardhat' ? isStopped : null
    },
    autoImpersonateAccount: ([isOn], tool) => {
      if (typeof isOn !== 'boolean') throw invalid('expected true or false', 0)
      this.#signing.impersonateAll(isOn)
      return doneAs(tool)
    },
    mine_detailed: async ([options]) => {
      if (isObject(options)) integer(options.blocks ?? 1, this.#developer.limits.executedBlocksMax)
      const before = this.#store.head.number
      await this.#actions.mine([options], 'evm')
      return this.#blocksAfter(before)
    },
    intervalMine: async (_, tool) => {
      await this.#developer.make()
      return doneAs(tool)
    },
    dumpState: () => this.#developer.dump(),
    loadState: async ([dump], tool) => {
      const accounts = parseDump(dump, this.#store.readIdentity()?.fork)
      if (accounts.length > 0)
        await this.#developer.changeAccounts(`${tool}_loadState`, `of ${accounts.length} accounts`, accounts)
      this.#maker.waiting.removePast()
      return true
    },
    reset: async ([options], tool) => {
      const base = baseOf(options)
      if (base === undefined) await this.#developer.reset()
      else await this.#developer.resetTo(base, `${tool}_reset`)
      this.#signing.reset()
      return doneAs(tool)
    },
    rollback: async ([depth], tool) => {
      await this.#developer.rollback(integer(depth ?? 1, Number.MAX_SAFE_INTEGER))
      return doneAs(tool)
    },
    reorg: async ([depth, placed], tool) => {
      await this.#developer.reorganise(integer(depth, reorganisedMax), placedTransactions(placed ?? []))
      return doneAs(tool)
    },
    setBlockTimestampInterval: async ([seconds], tool) => {
      await this.#developer.setNextBlock({ interval: integer(seconds, secondsMax) })
      return doneAs(tool)
    },
    removeBlockTimestampInterval: () => this.#developer.removeInterval(),
    setChainId: (_, tool) => refuseAction('setChainId', tool),
    setMinGasPrice: (_, tool) => refuseAction('setMinGasPrice', tool),
    setRpcUrl: (_, tool) => refuseAction('setRpcUrl', tool),
    nodeInfo: () => this.#nodeInfo(),
    metadata: () => this.#metadata(),
    // This node prints no line for a call.
    setLoggingEnabled: (_, tool) => doneAs(tool),
    removePoolTransactions: ([address], tool) => {
      this.#maker.waiting.dropFrom(addressOf(address))
      return doneAs(tool)
    },
    dropAllTransactions: (_, tool) => {
      this.#maker.waiting.clear()
      return doneAs(tool)
    },
    setAutomine: async ([isOn], tool) => {
      if (typeof isOn !== 'boolean') throw invalid('expected true or false', 0)
      this.#developer.setPace(isOn ? 0 : undefined)
      await this.#developer.makeAtOnce()
      return doneAs(tool)
    },
    getAutomine: () => this.#developer.blockSeconds === 0,
    getIntervalMining: () => this.#developer.blockSeconds || null,
    setIntervalMining: ([seconds], tool) => {
      const blockSeconds = integer(seconds, intervalSecondsMax)
      if (blockSeconds > 0) this.#developer.setPace(blockSeconds)
      else if (this.#developer.blockSeconds !== 0) this.#developer.setPace(undefined)
      return doneAs(tool)
    },
    dropTransaction: ([hash], tool) => {
      const bytes = bytesOfHex(hash, 32)
      if (bytes === undefined) throw invalid('expected the hash of a transaction', 0)
      const isDropped = this.#maker.waiting.drop(toHash32(bytes))
      if (tool === 'hardhat') return isDropped
      return isDropped ? bytesToHex(bytes) : null
    },
  }

  #mineAs([blocks, seconds]: readonly unknown[]): Promise<void> {
    const { minedBlocksMax } = this.#developer.limits
    return this.#developer.mine(integer(blocks ?? 1, minedBlocksMax), integer(seconds ?? 0, secondsMax, 1))
  }

  async #setNext(value: unknown): Promise<void> {
    const timestamp = integer(value, secondsMax)
    this.#requireLater(timestamp)
    await this.#developer.setNextBlock({ timestamp })
  }

  #requireLater(timestamp: number): void {
    const { number, timestamp: last } = this.#maker.head
    if (timestamp <= last)
      throw messageRefused(`timestamp ${timestamp} is not after ${last}, that of block ${number}`)
  }

  /** Changes an account at the head, without a block; the state root of the next block has it. */
  #change(method: string, written: unknown, wanted: Omit<AccountByHand, 'address'>): Promise<void> {
    const address = addressOf(written)
    return this.#developer.changeAccounts(method, bytesToHex(address), [{ ...wanted, address }])
  }

  #blocksAfter(number: number): unknown[] {
    const options = { supportsSafe: true, safeLag: 0, finalizedLag: 0, answerCacheBytes: 0 }
    const chain = new Chain(this.#store, options)
    const blocks: unknown[] = []
    for (let at = number + 1; at <= this.#store.head.number; at++) {
      const hash = this.#store.readCanonicalHash(at) as Hash32
      blocks.push(JSON.parse(Buffer.from(chain.blockJson(hash, true) as Uint8Array).toString('utf8')))
    }
    return blocks
  }

  /** The answer in the form of anvil's. */
  #nodeInfo(): unknown {
    const { number, timestamp, gasLimit, baseFeePerGas = 0n } = this.#maker.head
    const fork = this.#maker.nextFork(this.#clock.next)
    const base = this.#store.readIdentity()?.fork
    return {
      currentBlockNumber: toQuantity(number),
      currentBlockTimestamp: Number(timestamp),
      currentBlockHash: bytesToHex(this.#store.head.hash),
      hardFork: fork,
      transactionOrder: 'fifo',
      environment: {
        baseFee: toQuantity(baseFeePerGas),
        chainId: Number(this.#maker.chainId),
        gasLimit: toQuantity(gasLimit),
        gasPrice: toQuantity(baseFeePerGas),
      },
      forkConfig: { forkUrl: null, forkBlockNumber: base?.number ?? null, forkRetryBackoff: null },
    }
  }

  /** The answer in the form of anvil's and Hardhat's. */
  #metadata(): unknown {
    const { number, hash } = this.#store.head
    const base = this.#store.readIdentity()?.fork
    const chainId = Number(this.#maker.chainId)
    return {
      clientVersion: developerClientVersion,
      clientSemver: anvilVersion,
      chainId,
      instanceId: this.#instanceId,
      latestBlockNumber: number,
      latestBlockHash: bytesToHex(hash),
      forkedNetwork: base ? { chainId, forkBlockNumber: base.number, forkBlockHash: base.hash } : null,
      snapshots: Object.fromEntries(
        this.#developer.snapshots.blocks.map(([id, at]) => {
          return [toQuantity(id), [at, bytesToHex(this.#store.readCanonicalHash(at) as Hash32)]]
        }),
      ),
    }
  }
}

function doneAs(tool: ToolPrefix): true | null {
  return tool === 'hardhat' ? true : null
}
