/**
 * The source of a developer chain: imports the recorded blocks, then makes blocks at intervals and when callers ask.
 * Owns when a block is made, its timestamp, and the changes that callers may make to the chain (`developerMethods`).
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { Chain } from '../../../data/chain/chain.js'
import { decodeHeader } from '../../../data/chain/header.js'
import type { NextBlock } from '../../../data/store/chainRows.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import type { EmptyRun } from '../../../data/store/emptyRuns.js'
import { StoreError } from '../../../data/store/lmdb/environment.js'
import { unsignedForm } from '../../../execution/evm/transactions/signedTransaction.js'
import {
  type Address,
  bytesOfHex,
  bytesToHex,
  type Hash32,
  hexToBytes,
  toAddress,
  toHash32,
  toQuantity,
  zeroAddress,
} from '../../../primitives/bytes.js'
import { FaultError, messageRefused, OperatorError } from '../../../primitives/faults.js'
import { excerpt, isObject } from '../../../primitives/jsonType.js'
import { NotHeldError } from '../../../primitives/notHeld.js'
import { anvilVersion, developerClientVersion } from '../../../primitives/packageRoot.js'
import { putNewest } from '../../../primitives/putNewest.js'
import {
  type Announced,
  callSource,
  coinbaseMethod,
  type DeveloperAction,
  headProofMethod,
  type PoolQuestion,
  type SigningMethod,
  type SourceCalls,
  sourceCallsBy,
  type ToolPrefix,
} from '../../../primitives/upstreamCalls.js'
import { readChainFile } from '../blocks/chainFile.js'
import { type Genesis, genesisWithTime, parseGenesis } from '../blocks/genesis.js'
import { sizeOfFile, visitBlocks } from '../blocks/importSession.js'
import { sourceEnded } from '../thread/callAnswerer.js'
import type { DevelopPlan, DevelopTask } from '../thread/messages.js'
import { Ticker } from '../thread/pace.js'
import { publishFigures } from '../thread/publishFigures.js'
import { runSource, type Source, type SourceHost, takeCalls } from '../thread/runSource.js'
import { openTaskStore } from '../thread/taskStore.js'
import { Announcements } from '../transactions/announcements.js'
import { BlockMaker, type Payment } from './blockMaker.js'
import {
  addressOf,
  integer,
  invalid,
  placedTransactions,
  quantity,
  word,
  wordBytes,
} from './developParams.js'
import { refusal, refuseAction, refusedActions } from './refusedActions.js'
import type { Signer } from './signer.js'
import { type AccountByHand, buildByHand } from './stateByHand.js'
import { dumpState, parseDump } from './stateDump.js'

/** Type of transactions with blobs (EIP-4844). */
const blobType = 3
/**
 * Most blocks of one call, beyond the periods of any governor. Most of them are in runs of empty blocks, whose hashes
 * take some microseconds each.
 */
const minedMax = 1_000_000
/** Most blocks of one call that are executed. Each takes some 2 ms on a busy machine, and a request has 30 s. */
const executedMax = 5_000
/** A call for fewer blocks executes them, so that the chain stays one that others can verify. */
const runMin = 1_024
/** Most blocks of one run: hashing them takes some tenths of a second, and other calls wait for it. */
const runMax = 65_536
/** Timestamps that are numbers here have 48 bits. */
const timestampMax = 2 ** 48 - 1
/** Most blocks that a reorganisation replaces; each has a flush of its own. */
const reorganisedMax = 1_000
/** Blocks of one transaction of the store: a flush takes as long as some blocks, and other calls wait for all of them. */
const minedTogether = 50
/**
 * Most blocks that a revert removes, in one transaction of the store; as many as the longest reorganisation of a
 * follower.
 */
const revertedMax = 8_192
/** Most snapshots that are remembered; test suites that never revert make one per test. */
const snapshotsMax = 1_024
/**
 * Limit in seconds of a step, of all steps together, and of a given timestamp: far beyond any test, and exact in a
 * double.
 */
const secondsMax = 2 ** 40
/** An hour, as in the configuration. Milliseconds as for Hardhat, read as seconds, are mostly above it. */
const intervalSecondsMax = 3_600
const gweiMax = 2n ** 64n - 1n
const gwei = 10n ** 9n

/** Most accounts that are impersonated; suites that never stop name one per test. */
const impersonatedMax = 1_024
/** Largest nonce (EIP-2681). */
const nonceMax = 2n ** 64n - 2n
/** Most characters of the parameters of a change by hand that are stored and shown. */
const whatCharsMax = 120
/** Least gas limit of a block (yellow paper 4.4.4). */
const gasLimitMin = 5_000n

/**
 * Imports the blocks of the recorded file that are above the head, then makes blocks until the signal is aborted. Calls
 * wait for the import. Rejects with OperatorError for a cause that the operator can remove.
 */
export async function developChain(task: DevelopTask, host: SourceHost): Promise<void> {
  const { report, signal } = host
  const { recorded } = task.develop
  const bytesTotal = recorded === undefined ? 0 : await sizeOfFile(recorded)
  const open = () => openTaskStore(task, withTime)
  const run = async (source: Source) => {
    const { store, schedule, importer, session, publisher, onEnd } = source
    session.bytesTotal = bytesTotal
    const say = (text: string) => report({ type: 'said', text })
    const onMade = async () => {
      report({ type: 'head' })
      await publisher?.committed()
    }
    let reported: string | undefined
    const tell = (trouble: string | undefined) => {
      if (trouble === reported) return
      reported = trouble
      if (trouble !== undefined) say(trouble)
      report({
        type: 'upstream',
        state: { head: undefined, isDown: false, ...(trouble !== undefined && { trouble }), nodes: [] },
      })
    }
    const ready = importAbove(recorded, source, signal).then((firstNumber) => {
      const maker = new BlockMaker(store, schedule, say)
      const isPublished = publisher !== undefined
      if (firstNumber === undefined) return undefined
      const events = { onMade, tell, isPublished, first: { number: firstNumber, changes: 0 } }
      return new Developer(store, maker, task.develop, events, signal)
    })
    const calls = sourceCallsBy(async (name, args) => {
      const developer = await ready.catch(() => undefined)
      if (developer === undefined || signal.aborted) throw new FaultError(sourceEnded)
      return callSource(developer, name, args).catch((error) => {
        throw error instanceof OperatorError ? messageRefused(error.message) : error
      })
    })
    takeCalls(host, onEnd, calls)
    report({ type: 'opened' })
    onEnd(publishFigures(report, { store, importer }))
    const developer = await ready
    if (developer === undefined) return
    report({ type: 'head' })
    await developer.run()
  }
  await runSource(task, host, run, open)
}

/** A genesis without a time begins now, or when the store was made; tools expect a clock that is not of 1970. */
async function withTime(
  genesis: Genesis | undefined,
  text: string,
  store: ChainWriter,
): Promise<Genesis | undefined> {
  if (genesis === undefined) return undefined
  const first = store.readIdentity() && store.readCanonicalHash(0)
  const header = first && store.readHeader(first)
  return parseGenesis(
    genesisWithTime(text, () => Number(header ? decodeHeader(header).timestamp : clockSeconds())),
  )
}

/**
 * Imports the blocks of a chain file that are above the head; resolves to the number of the last one, 0 without a file,
 * once all are stored. Undefined if the signal ended that.
 */
async function importAbove(
  file: string | undefined,
  { store, session }: Source,
  signal: AbortSignal,
): Promise<number | undefined> {
  const known = store.head.number
  let last = 0
  const isWhole =
    file === undefined ||
    (await visitBlocks(file, readChainFile(file, session.countReads()), async (block) => {
      last = block.header.number
      if (last > known) await session.import(block)
      return !signal.aborted
    }))
  await session.commit()
  return isWhole && !signal.aborted ? last : undefined
}

function throwStoreErrors(error: unknown): void {
  if (error instanceof StoreError) throw error
}

export interface DeveloperEvents {
  /** Called after each block and revert. */
  onMade(): Promise<void>
  /** Called with the reason why no blocks are made, as a sentence; with undefined once one was made. */
  tell(trouble: string | undefined): void
  /** The state at the start, with the number of changes by hand that belong to it. */
  readonly first: Pick<Snapshot, 'number' | 'changes'>
  /** Whether replicas get the blocks: they refuse state that no block leads to. */
  readonly isPublished: boolean
  /**
   * Runs work again until all that it reads is stored; absent: everything is. The clock of such a chain begins at its
   * first block.
   */
  readonly supply?: Supply | undefined
}

export type Supply = <T>(work: () => T) => Promise<T>

/** The state that `evm_revert` restores. */
interface Snapshot {
  readonly number: number
  readonly aheadSeconds: number
  /** Number of changes by hand to the state after this block. */
  readonly changes: number
}

/** Calls reject with FaultError for a caller's fault, and with OperatorError if no blocks can be made. */
export class Developer implements SourceCalls {
  readonly #store: ChainWriter
  readonly #maker: BlockMaker
  readonly #events: DeveloperEvents
  readonly #signal: AbortSignal
  readonly #snapshots = new Map<number, Snapshot>()
  readonly #announcements = new Announcements()
  /** Another one after each start. */
  readonly #instanceId = bytesToHex(randomBytes(32))
  #lastSnapshot = 0
  /** Accounts, hex, whose transactions need no signature; until a restart. */
  readonly #impersonated = new Map<string, true>()
  #impersonatesAll = false
  /** Time between two blocks; 0: one for each transaction; undefined: only requested blocks. */
  #blockSeconds: number | undefined
  /** Aborted when the time between blocks changes. */
  #pace = new AbortController()
  readonly #accounts: number
  #loadedSigner: Promise<Signer> | undefined
  #refreshing: Promise<void> | undefined
  #previewed: string | undefined
  /** The last block that was not made here: the genesis, the last recorded one, or the base of a fork. */
  readonly #first: DeveloperEvents['first']
  readonly #paceAtStart: number | undefined
  /** How far the chain's clock is ahead of this machine's; a chain whose head is in the future continues from there. */
  #aheadSeconds: number
  /** Timestamp of the next block, if a caller has set it. */
  #nextTimestamp: number | undefined

  /** Calls that make many blocks end early once `signal` is aborted. */
  constructor(
    store: ChainWriter,
    maker: BlockMaker,
    { blockSeconds, mining, accounts }: DevelopPlan,
    events: DeveloperEvents,
    signal: AbortSignal,
  ) {
    this.#store = store
    this.#maker = maker
    this.#paceAtStart = mining ? blockSeconds : undefined
    this.#blockSeconds = this.#paceAtStart
    this.#first = events.first
    this.#accounts = accounts
    this.#events = events
    this.#signal = signal
    signal.addEventListener('abort', () => void this.#announcements.close())
    const last = Number(maker.head.timestamp)
    const { clock = 0, timestamp = 0 } = store.readByHand()?.next ?? {}
    this.#aheadSeconds = this.#aheadAfter(Math.max(last, clock))
    if (timestamp > last) this.#nextTimestamp = timestamp
  }

  /** How far the clock is ahead of the machine's at a time of the chain; a fork's may be behind. */
  #aheadAfter(seconds: number): number {
    const ahead = seconds - clockSeconds()
    return this.#events.supply === undefined ? Math.max(0, ahead) : ahead
  }

  /** Resolves to what `work` returns, which changes nothing, once all that it reads is stored. */
  #supplied<T>(work: () => T): Promise<T> | T {
    const { supply } = this.#events
    return supply === undefined ? work() : supply(work)
  }

  /** Makes blocks at the current interval, until the signal is aborted. */
  async run(): Promise<void> {
    // What waited before a restart is lost.
    await this.#refreshPending()
    while (!this.#signal.aborted) {
      const inForce = AbortSignal.any([this.#signal, this.#pace.signal])
      const ticker = this.#blockSeconds ? new Ticker(this.#blockSeconds * 1_000, inForce) : undefined
      // The cause may be gone at the next block; `tell` reports it.
      while (await ticker?.wait()) {
        await this.make().catch(throwStoreErrors)
        await this.#refreshPending()
      }
      if (!inForce.aborted) await once(inForce, 'abort')
    }
  }

  #setPace(blockSeconds: number | undefined): void {
    this.#blockSeconds = blockSeconds
    this.#pace.abort()
    this.#pace = new AbortController()
  }

  /** Makes a block now. Its timestamp is the chain's time, and above the parent's. */
  async make(payment?: Payment): Promise<void> {
    const { supply, onMade } = this.#events
    for (let isMade = false; !isMade; ) {
      const timestamp = this.#timestamp()
      await supply?.(() => this.#maker.rehearse(timestamp, payment))
      isMade = this.#makeNext(payment, timestamp)
    }
    await onMade()
  }

  /** Returns false, and changes nothing, if a transaction that came meanwhile reads what is not stored. */
  #makeNext(payment?: Payment, timestamp = this.#timestamp()): boolean {
    const set = this.#nextTimestamp
    if (this.#nextTimestamp !== undefined) this.#aheadSeconds = timestamp - clockSeconds()
    this.#nextTimestamp = undefined
    try {
      this.#maker.make(timestamp, payment)
    } catch (error) {
      if (error instanceof NotHeldError) {
        this.#nextTimestamp = set
        return false
      }
      const isCallers = error instanceof FaultError || error instanceof StoreError
      if (!isCallers) this.#events.tell(`no blocks are made: ${(error as Error).message}`)
      throw error
    }
    this.#events.tell(undefined)
    this.#nextBlockIsMade()
    return true
  }

  /** Forgets what was set for the block that is made now. */
  #nextBlockIsMade(): void {
    const { next } = this.#store.readByHand() ?? {}
    if (next === undefined) return
    const { clock, coinbase, interval } = next
    const isAhead = clock !== undefined && this.#aheadSeconds > 0
    const rest = {
      ...(isAhead && { clock }),
      ...(coinbase !== undefined && { coinbase }),
      ...(interval !== undefined && { interval }),
    }
    const isNothing = Object.keys(rest).length === 0
    if (isNothing || Object.keys(next).length > Object.keys(rest).length)
      this.#store.writeNextBlock(isNothing ? undefined : rest)
  }

  async #setNextBlock(more: NextBlock): Promise<void> {
    this.#store.writeNextBlock({ ...this.#store.readByHand()?.next, ...more })
    await this.#events.onMade()
  }

  async send(raw: Uint8Array): Promise<Hash32> {
    if (raw[0] === blobType) {
      // A malformed transaction is refused first, with its own message.
      this.#maker.check(raw, this.#timestamp())
      const { checkSidecar } = await import('./blobSidecars.js')
      checkSidecar(raw)
    }
    await this.#know(() => this.#maker.senderOf(raw, this.#timestamp()))
    const hash = this.#maker.take(raw, this.#timestamp())
    this.#announcements.add(hash)
    await this.#makeAtOnce()
    await this.#refreshPending()
    return hash
  }

  /** Resolves once an account is stored. */
  async #know(address: () => Address): Promise<void> {
    if (this.#events.supply !== undefined) await this.#events.supply(() => this.#maker.accountOf(address()))
  }

  async pending(hash: Hash32): Promise<Uint8Array | undefined> {
    return this.#maker.waiting.find(hash)
  }

  async waiting(sender: Address, next: bigint): Promise<number> {
    await this.#know(() => sender)
    return this.#maker.waiting.countFrom(sender, next)
  }

  async pool(question: PoolQuestion, sender: Address | undefined): Promise<Uint8Array> {
    return this.#maker.waiting.poolJson(question, sender)
  }

  announced(after: number | undefined, waitMs: number): Promise<Announced> {
    return this.#announcements.since(after, waitMs)
  }

  async relay(method: string, json: string): Promise<string> {
    if (method === headProofMethod) return 'null'
    const params = JSON.parse(json)
    if (!Array.isArray(params)) throw new FaultError({ kind: 'ParamsNotArray' })
    const answer = await this.#relayed(method, params)
    await this.#refreshPending()
    return JSON.stringify(answer)
  }

  /**
   * Stores the block that could be made of what waits, for reads at `pending`. Calls of one turn of the event loop
   * share its execution.
   */
  #refreshPending(): Promise<void> {
    this.#refreshing ??= setImmediate().then(async () => {
      this.#refreshing = undefined
      if (this.#signal.aborted || this.#previewed === this.#previewBasis) return
      const next = this.#maker.waiting.isEmpty
        ? undefined
        : await this.#supplied(() => this.#maker.preview(this.#timestamp()))
      if (next !== undefined || this.#store.readPending() !== undefined) {
        this.#store.writePending(next)
        await this.#events.onMade()
      }
      this.#previewed = this.#previewBasis
    })
    return this.#refreshing
  }

  /** What the block of {@link #refreshPending} depends on, besides the time. */
  get #previewBasis(): string {
    const { revision = 0 } = this.#store.readByHand() ?? {}
    return `${bytesToHex(this.#store.head.hash)} ${revision} ${this.#maker.waiting.version}`
  }

  /** If each transaction gets a block, makes blocks of all that can run. */
  async #makeAtOnce(): Promise<void> {
    while (this.#blockSeconds === 0 && this.#maker.hasWork(this.#timestamp())) await this.make()
  }

  #timestamp(): number {
    if (this.#nextTimestamp !== undefined) return this.#nextTimestamp
    const last = Number(this.#maker.head.timestamp)
    const interval = this.#store.readByHand()?.next?.interval
    if (interval !== undefined) return last + Math.max(interval, 1)
    return Math.max(clockSeconds() + this.#aheadSeconds, last + 1)
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
      const count = integer(blocks ?? 1, minedMax)
      // Some clients send an omitted argument as null.
      if (timestamp !== undefined && timestamp !== null) await this.#setNext(timestamp)
      await this.#mine(count, 0)
      return '0x0'
    },
    increaseTime: async ([seconds]) => {
      // Blocks that were made faster than seconds pass are ahead of the clock.
      const ahead = Math.max(this.#aheadSeconds, Number(this.#maker.head.timestamp) - clockSeconds())
      await this.#moveClock(ahead + integer(seconds, secondsMax - ahead))
      return this.#aheadSeconds
    },
    setTime: async ([timestamp]) => {
      const wanted = integer(timestamp, secondsMax)
      this.#requireLater(wanted)
      await this.#moveClock(wanted - clockSeconds())
      return this.#aheadSeconds
    },
    setNextBlockTimestamp: async ([timestamp], tool) => {
      await this.#setNext(timestamp)
      return doneAs(tool)
    },
    snapshot: () => {
      const { number } = this.#store.head
      const changes = this.#store.countByHand(number)
      const snapshot = { number, aheadSeconds: this.#aheadSeconds, changes }
      putNewest(this.#snapshots, ++this.#lastSnapshot, snapshot, snapshotsMax)
      return toQuantity(this.#lastSnapshot)
    },
    revert: ([id]) => this.#revert(integer(id, Number.MAX_SAFE_INTEGER)),
    setBalance: async ([address, wei], tool) => {
      await this.#change(`${tool}_setBalance`, address, { balance: word(wei, 1) })
      return doneAs(tool)
    },
    addBalance: async ([address, wei], tool) => {
      await this.#addBalance(addressOf(address), quantity(wei, 1))
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
      await this.#setNextBlock({ coinbase: bytesToHex(addressOf(address)) })
      return doneAs(tool)
    },
    setPrevRandao: async ([value], tool) => {
      await this.#setNextBlock({ prevRandao: bytesToHex(wordBytes(value, 0)) })
      return doneAs(tool)
    },
    setNextBlockBaseFeePerGas: async ([wei], tool) => {
      const fee = toQuantity(word(wei, 0))
      if (this.#maker.head.baseFeePerGas === undefined) throw messageRefused('blocks have no base fee here')
      this.#noteByHand(`${tool}_setNextBlockBaseFeePerGas ${fee}`)
      await this.#setNextBlock({ baseFeePerGas: fee })
      return doneAs(tool)
    },
    setBlockGasLimit: async ([gas], tool) => {
      const limit = quantity(gas, 0)
      if (limit < gasLimitMin || limit > nonceMax) throw invalid(`expected ${gasLimitMin} to ${nonceMax}`, 0)
      this.#noteByHand(`${tool}_setBlockGasLimit ${limit}`)
      await this.#setNextBlock({ gasLimit: toQuantity(limit) })
      return true
    },
    impersonateAccount: ([address], tool) => {
      putNewest(this.#impersonated, bytesToHex(addressOf(address)), true, impersonatedMax)
      return doneAs(tool)
    },
    stopImpersonatingAccount: ([address], tool) => {
      const isStopped = this.#impersonated.delete(bytesToHex(addressOf(address)))
      return tool === 'hardhat' ? isStopped : null
    },
    autoImpersonateAccount: ([isOn], tool) => {
      if (typeof isOn !== 'boolean') throw invalid('expected true or false', 0)
      this.#impersonatesAll = isOn
      return doneAs(tool)
    },
    mine_detailed: async ([options]) => {
      if (isObject(options)) integer(options.blocks ?? 1, executedMax)
      const before = this.#store.head.number
      await this.#actions.mine([options], 'evm')
      return this.#blocksAfter(before)
    },
    intervalMine: async (_, tool) => {
      await this.make()
      return doneAs(tool)
    },
    dumpState: (_, tool) => {
      if (this.#events.supply === undefined) return dumpState(this.#store)
      throw refusal(`${tool}_dumpState`, [
        'a fork has only the part of the state that was read',
        'keep its folder, with --data DIR',
      ])
    },
    loadState: async ([dump], tool) => {
      const accounts = parseDump(dump)
      if (accounts.length > 0)
        await this.#changeAll(`${tool}_loadState`, `of ${accounts.length} accounts`, accounts)
      this.#maker.waiting.removePast()
      return true
    },
    reset: async ([options], tool) => {
      // viem names "forking" in any case, with nulls.
      const { forking } = isObject(options) ? options : {}
      if (isObject(forking) && Object.values(forking).some((value) => value !== null))
        throw refusal(`${tool}_reset with "forking"`, refusedActions.setRpcUrl)
      await this.#reset()
      return doneAs(tool)
    },
    rollback: async ([depth], tool) => {
      await this.#goBack(this.#below(integer(depth ?? 1, Number.MAX_SAFE_INTEGER)))
      return doneAs(tool)
    },
    reorg: async ([depth, placed], tool) => {
      await this.#reorganise(integer(depth, reorganisedMax), placedTransactions(placed ?? []))
      return doneAs(tool)
    },
    setBlockTimestampInterval: async ([seconds], tool) => {
      await this.#setNextBlock({ interval: integer(seconds, secondsMax) })
      return doneAs(tool)
    },
    removeBlockTimestampInterval: async () => {
      const { interval, ...rest } = this.#store.readByHand()?.next ?? {}
      if (interval === undefined) return false
      this.#store.writeNextBlock(rest)
      await this.#events.onMade()
      return true
    },
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
      this.#setPace(isOn ? 0 : undefined)
      await this.#makeAtOnce()
      return doneAs(tool)
    },
    getAutomine: () => this.#blockSeconds === 0,
    getIntervalMining: () => this.#blockSeconds || null,
    setIntervalMining: ([seconds], tool) => {
      const blockSeconds = integer(seconds, intervalSecondsMax)
      if (blockSeconds > 0) this.#setPace(blockSeconds)
      else if (this.#blockSeconds !== 0) this.#setPace(undefined)
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

  async #relayed(method: string, params: readonly unknown[]): Promise<unknown> {
    if (method in this.#signing) return this.#signing[method as SigningMethod](params)
    if (method === coinbaseMethod) return this.#store.readByHand()?.next?.coinbase ?? bytesToHex(zeroAddress)
    const end = method.indexOf('_')
    const tool = method.slice(0, end) as ToolPrefix
    const action = method.slice(end + 1) as DeveloperAction
    return this.#actions[action](params, tool)
  }

  /**
   * Answers for `rpc/methods/signing.ts`; the first parameter is the account. Without a transaction
   * `eth_sendTransaction` checks only that there is a signer.
   */
  readonly #signing: Readonly<Record<SigningMethod, (params: readonly unknown[]) => Promise<unknown>>> = {
    eth_accounts: async () => (await this.#signer).accounts,
    eth_sign: async ([account, message]) =>
      (await this.#signer).signMessage(String(account), hexToBytes(String(message))),
    eth_signTypedData_v4: async ([account, typed]) =>
      (await this.#signer).signTypedData(String(account), typed),
    eth_signTransaction: async ([account, raw, nonce]) => {
      const chainId = this.#maker.signedChainId(this.#timestamp())
      const unsigned = hexToBytes(String(raw))
      const signed = (await this.#signer).signTransaction(
        String(account),
        unsigned,
        BigInt(String(nonce)),
        chainId,
      )
      return bytesToHex(signed)
    },
    eth_sendUnsignedTransaction: async ([account, raw, nonce]) => {
      const sender = toAddress(hexToBytes(String(account)))
      await this.#know(() => sender)
      const chainId = this.#maker.signedChainId(this.#timestamp())
      return bytesToHex(
        await this.#sendUnsigned(sender, hexToBytes(String(raw)), this.#nonceFor(sender, nonce), chainId),
      )
    },
    eth_sendTransaction: async ([account, raw, nonce]) => {
      const signer = await this.#signer
      const sender = toAddress(hexToBytes(String(account)))
      await this.#know(() => sender)
      const isImpersonated = this.#impersonatesAll || this.#impersonated.has(bytesToHex(sender))
      if (!isImpersonated) signer.requireAccount(String(account))
      if (raw === undefined) return null
      // On a chain that lacks nothing, no await from here to the queue, so that no other transaction gets the same nonce.
      const next = this.#nonceFor(sender, nonce)
      const unsigned = hexToBytes(String(raw))
      const chainId = this.#maker.signedChainId(this.#timestamp())
      if (isImpersonated && !signer.accounts.includes(bytesToHex(sender)))
        return bytesToHex(await this.#sendUnsigned(sender, unsigned, next, chainId))
      return bytesToHex(await this.send(signer.signTransaction(String(account), unsigned, next, chainId)))
    },
  }

  /** The given nonce, or the one after all of the sender's. */
  #nonceFor(sender: Address, nonce: unknown): bigint {
    if (nonce !== undefined) return BigInt(String(nonce))
    const used = this.#maker.accountOf(sender)?.nonce ?? 0n
    return used + BigInt(this.#maker.waiting.countFrom(sender, used))
  }

  /** Sends a transaction of an account whose key is not known. */
  async #sendUnsigned(sender: Address, unsigned: Uint8Array, nonce: bigint, chainId: bigint | undefined) {
    const { withSignature } = await import('./signer.js')
    const raw = withSignature(unsigned, nonce, chainId, () => unsignedForm(sender))
    this.#requireUnpublished('a transaction without a signature')
    this.#maker.impersonate(raw, sender)
    this.#maker.check(raw, this.#timestamp())
    this.#noteByHand(`transaction of ${bytesToHex(sender)} without a signature`)
    return this.send(raw)
  }

  /** Loaded at the first use, because most chains receive only signed transactions. */
  get #signer(): Promise<Signer> {
    this.#loadedSigner ??= import('./signer.js').then(
      ({ Signer }) =>
        new Signer((address) => (this.#maker.accountOf(address)?.balance ?? 0n) > 0n, this.#accounts),
    )
    return this.#loadedSigner
  }

  #mineAs([blocks, seconds]: readonly unknown[]): Promise<void> {
    return this.#mine(integer(blocks ?? 1, minedMax), integer(seconds ?? 0, secondsMax, 1))
  }

  async #mine(blocks: number, seconds: number): Promise<void> {
    const { isPublished, supply } = this.#events
    const mayRun = supply === undefined && !isPublished && this.#store.canHaveRuns
    if (!mayRun) integer(blocks, executedMax)
    if (Number(this.#maker.head.timestamp) + blocks * Math.max(seconds, 1) > timestampMax)
      throw invalid('these blocks are too far in the future', 1)
    const setTime = (at: number) => {
      if (at > 0 && seconds > 0) this.#nextTimestamp = Number(this.#maker.head.timestamp) + seconds
    }
    const makeOne = (at: number) => {
      setTime(at)
      this.#makeNext()
    }
    // What a fork lacks is fetched before each block.
    if (this.#events.supply !== undefined) {
      for (let made = 0; made < blocks; made++) {
        if (this.#signal.aborted) throw new FaultError(sourceEnded)
        setTime(made)
        await this.make()
      }
      return
    }
    const hasRuns = mayRun && blocks >= runMin
    let executed = 0
    let isNoted = false
    for (let left = blocks; left > 0; ) {
      // The first block has what was set for it, and the transactions that wait.
      const isFirst = left === blocks
      if (hasRuns && !isFirst && !isNoted && this.#emptyRun(left, seconds) !== undefined) {
        this.#noteByHand(`${blocks} blocks by one call, most of them without system calls`)
        isNoted = true
      }
      try {
        this.#store.writeTogether(() => {
          for (let at = hasRuns && isFirst ? minedTogether - 1 : 0; at < minedTogether && left > 0; at++) {
            const run = isNoted ? this.#emptyRun(left, seconds) : undefined
            if (run === undefined) {
              if (++executed > executedMax)
                throw messageRefused(`at most ${executedMax} blocks are executed by one call`)
              makeOne(blocks - left--)
            } else {
              const appended = this.#appendRun(run, seconds)
              left -= appended
              if (appended > 1) break
            }
          }
        })
      } finally {
        await this.#events.onMade()
      }
      // So that a stop message can arrive.
      await setImmediate()
      if (this.#signal.aborted) throw new FaultError(sourceEnded)
    }
  }

  /** The next of `left` blocks, as many as one run can have; undefined if the next block has to be executed. */
  #emptyRun(left: number, seconds: number): EmptyRun | undefined {
    const timestamp = seconds > 0 ? Number(this.#maker.head.timestamp) + seconds : this.#timestamp()
    if (this.#maker.hasWork(timestamp)) return undefined
    const step = Math.max(seconds || (this.#store.readByHand()?.next?.interval ?? 1), 1)
    return this.#maker.emptyRun(timestamp, step, Math.min(left, runMax))
  }

  /** Returns the number of blocks. */
  #appendRun(run: EmptyRun, seconds: number): number {
    const before = this.#store.head.number
    this.#store.appendRun(run)
    if (seconds > 0) this.#aheadSeconds = run.timestamp + (run.last - before - 1) * run.step - clockSeconds()
    return run.last - before
  }

  async #setNext(value: unknown): Promise<void> {
    const timestamp = integer(value, secondsMax)
    this.#requireLater(timestamp)
    this.#nextTimestamp = timestamp
    await this.#setNextBlock({ timestamp })
  }

  #requireLater(timestamp: number): void {
    const { number, timestamp: last } = this.#maker.head
    if (timestamp <= last)
      throw messageRefused(`timestamp ${timestamp} is not after ${last}, that of block ${number}`)
  }

  /** Callers see the new time in the pending block at once. */
  async #moveClock(aheadSeconds: number): Promise<void> {
    this.#aheadSeconds = aheadSeconds
    await this.#setNextBlock({ clock: clockSeconds() + aheadSeconds })
  }

  /** Changes an account at the head, without a block; the state root of the next block has it. */
  #change(method: string, written: unknown, wanted: Omit<AccountByHand, 'address'>): Promise<void> {
    const address = addressOf(written)
    return this.#changeAll(method, bytesToHex(address), [{ ...wanted, address }])
  }

  /** Changes accounts at the head; `which` names them for operators. */
  async #changeAll(method: string, which: string, wanted: readonly AccountByHand[]): Promise<void> {
    this.#requireUnpublished(method)
    const build = () => this.#maker.onState((state) => buildByHand(state, wanted))
    const { code, nodes, ...change } = await this.#supplied(build)
    this.#store.changeByHand({ ...change, what: `${method} ${which}` }, code, nodes)
    await this.#events.onMade()
    await this.#makeAtOnce()
  }

  /** Notes that the next block will differ from what other clients compute. */
  #noteByHand(what: string): void {
    this.#requireUnpublished(what)
    const { stateRoot } = this.#maker.headState
    this.#store.changeByHand({
      what: excerpt(what, whatCharsMax),
      stateRoot,
      accounts: [],
      slots: [],
      trie: [],
    })
  }

  #requireUnpublished(method: string): void {
    if (!this.#events.isPublished) return
    throw refusal(excerpt(method, whatCharsMax), [
      'replicas would refuse a chain that was changed by hand',
      'write it into "alloc" of the genesis',
    ])
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

  /** In the form of anvil's. */
  #nodeInfo(): unknown {
    const { number, timestamp, gasLimit, baseFeePerGas = 0n } = this.#maker.head
    const fork = this.#maker.nextFork(this.#timestamp())
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

  /** In the form of anvil's and Hardhat's. */
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
        [...this.#snapshots].map(([id, { number: at }]) => [
          toQuantity(id),
          [at, bytesToHex(this.#hashAt(at))],
        ]),
      ),
    }
  }

  #hashAt(number: number): Hash32 {
    return this.#store.readCanonicalHash(number) as Hash32
  }

  /** Removes all blocks since a snapshot, the snapshot with those after it, and all waiting transactions. */
  async #revert(id: number): Promise<boolean> {
    const snapshot = this.#snapshots.get(id)
    if (snapshot === undefined) return false
    await this.#goBack(snapshot)
    for (const later of [...this.#snapshots.keys()]) if (later >= id) this.#snapshots.delete(later)
    return true
  }

  /** The first block that this chain made is the last to go; settings are those of the start. */
  async #reset(): Promise<void> {
    const header = decodeHeader(this.#store.readHeader(this.#hashAt(this.#first.number)) as Uint8Array)
    const aheadSeconds = this.#events.supply === undefined ? 0 : this.#aheadAfter(Number(header.timestamp))
    await this.#goBack({ ...this.#first, aheadSeconds })
    this.#store.writeNextBlock(undefined)
    this.#snapshots.clear()
    this.#impersonated.clear()
    this.#impersonatesAll = false
    this.#setPace(this.#paceAtStart)
    await this.#events.onMade()
  }

  /** The state some blocks below the head. Throws FaultError MessageRefused below the first block. */
  #below(blocks: number): Snapshot {
    const { number: head } = this.#store.head
    const number = head - blocks
    if (number < this.#first.number) {
      const height = head - this.#first.number
      throw messageRefused(`${blocks} blocks cannot be taken back: ${height} were made since the start`)
    }
    return { number, aheadSeconds: this.#aheadSeconds, changes: this.#store.countByHand(number) }
  }

  /** Removes blocks and changes after a state, and all waiting transactions; snapshots after it stay unusable. */
  async #goBack({ number, aheadSeconds, changes }: Snapshot): Promise<void> {
    const blocks = this.#store.countOwnAbove(number)
    if (blocks > revertedMax)
      throw messageRefused(`this is ${blocks} blocks back; at most ${revertedMax} are taken back`)
    for (const [id, { number: at }] of this.#snapshots) if (at > number) this.#snapshots.delete(id)
    this.#store.apply(number, [])
    if (this.#store.countByHand(number) > changes) this.#store.undoByHand(changes)
    this.#maker.waiting.clear()
    this.#aheadSeconds = aheadSeconds
    this.#nextTimestamp = undefined
    const { next } = this.#store.readByHand() ?? {}
    if (next !== undefined) {
      const clock = clockSeconds() + aheadSeconds
      this.#store.writeNextBlock(aheadSeconds > 0 ? { clock } : undefined)
    }
    await this.#events.onMade()
  }

  /**
   * Replaces the last blocks by as many others. These have only the transactions that are placed in them; those of the
   * old blocks wait again, as on a node that follows a reorganisation.
   */
  async #reorganise(blocks: number, placed: ReadonlyMap<number, readonly Uint8Array[]>): Promise<void> {
    const below = this.#below(blocks)
    for (const at of placed.keys())
      if (at >= blocks) throw invalid(`block ${at} is none of ${blocks} new blocks`, 1)
    const old = this.#maker.sentAfter(below.number)
    await this.#goBack(below)
    for (let at = 0; at < blocks; at++) {
      for (const raw of placed.get(at) ?? []) this.#maker.take(raw, this.#timestamp())
      // The new block differs from the old one also where nothing else does.
      await this.#setNextBlock({ prevRandao: bytesToHex(randomBytes(32)) })
      await this.make()
    }
    for (const raw of old) this.#maker.takeAgain(raw, this.#timestamp())
    await this.#makeAtOnce()
  }

  /**
   * Raises a balance by a withdrawal in a block of its own. Any node can check that, unlike a direct change of the
   * state.
   */
  async #addBalance(address: Address, wei: bigint): Promise<void> {
    const amount = (wei + gwei - 1n) / gwei
    if (amount > gweiMax) throw messageRefused(`a balance can be raised by at most ${gweiMax} gwei at once`)
    if (amount > 0n) await this.make({ address, gwei: amount })
  }
}

function doneAs(tool: ToolPrefix): true | null {
  return tool === 'hardhat' ? true : null
}

function clockSeconds(): number {
  return Math.floor(Date.now() / 1_000)
}
