/**
 * Simulates blocks on top of a block of a store, without changing it: eth_simulateV1. Owns the choice of the state, and
 * builds all blocks on the same one.
 */
import type { BlockItem } from '../../../data/chain/executionRules.js'
import type { ForkSchedule } from '../../../data/chain/forks.js'
import { decodeHeader, encodeHeader, headerHash } from '../../../data/chain/header.js'
import { readPendingHeader, stateRootUnder } from '../../../data/chain/pendingHeader.js'
import type { ChainRows } from '../../../data/store/chainRows.js'
import type { Hash32 } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { JsonBytes } from '../../../primitives/jsonBytes.js'
import { decodeRlpList, rlpList } from '../../../primitives/rlp.js'
import { ancestorsOf, readRules, refuseUnknownFork, totalDifficulty } from '../blocks/blockContext.js'
import { atOneStatus, BlockStates, type BlockStatus } from '../blocks/blockState.js'
import { type JobLimits, JobWatch } from '../engine/jobWatch.js'
import { OwnKernel } from '../engine/kernel.js'
import type { BlockReference } from '../messages/executionRequest.js'
import { BlockSimulator } from './simulateBlock.js'
import { planBlocks } from './simulatedChain.js'
import type { SimulatedParent } from './simulatedHeader.js'
import { jsonBytesOf, writeSimulatedBlock } from './simulatedJson.js'
import { SimulatedState } from './simulatedState.js'
import type { SimulationRequest } from './simulationRequest.js'

/** Limit of an answer, which is in memory as a whole: the limit of a batch's answer. */
const answerBytesMax = 25_000_000
/** Initial memory of an answer: some blocks with a few messages each. */
const answerBytesExpected = 16 * 1024
/** Memory above which the kernel is replaced, because WebAssembly never frees any. */
const grownBytesMax = 16 * 2 ** 20

/** The block on which a simulation is built. */
interface Base extends SimulatedParent {
  /** Hashes of this block and of blocks before it. */
  readonly hashOf: (number: number) => Hash32 | undefined
}

/** Simulates on one store, one request after the other. */
export class Simulation {
  readonly #store: ChainRows
  readonly #limits: JobLimits
  readonly #schedule: ForkSchedule
  readonly #isDevelopment: boolean
  readonly #states: BlockStates
  readonly #own = new OwnKernel(grownBytesMax)

  /** `limits` apply to each request. */
  constructor(store: ChainRows, limits: JobLimits) {
    this.#store = store
    this.#limits = limits
    this.#states = new BlockStates(store)
    const { schedule, isDevelopment } = readRules(store)
    this.#schedule = schedule
    this.#isDevelopment = isDevelopment
  }

  /**
   * The JSON of an eth_simulateV1 result. Throws FaultError: SimulationRefused or MessageRefused if go-ethereum
   * refuses, HeaderForHashNotFound, ResponseTooLarge, ExecutionOutOfMemory, and ExecutionTimedOut, also if `shouldStop`
   * returns true. Throws NotStoredError if the state is not stored.
   */
  simulateJson(request: SimulationRequest, shouldStop: () => boolean): Uint8Array<ArrayBuffer> {
    const watch = new JobWatch(shouldStop, this.#limits)
    return atOneStatus(this.#store, request.block, (status) => {
      try {
        return this.#simulate(request, watch, status)
      } finally {
        this.#own.trim()
      }
    })
  }

  #simulate(request: SimulationRequest, watch: JobWatch, status: BlockStatus): Uint8Array<ArrayBuffer> {
    const base = this.#baseOf(request.block)
    const planned = planBlocks(base.header, request.blocks)
    const hashes = new Map<number, Hash32>()
    const simulator = new BlockSimulator({
      schedule: this.#schedule,
      isDevelopment: this.#isDevelopment,
      kernel: this.#own.kernel,
      // The state root needs the tries. A store that may lack rows has only their walked parts, which a side state
      // reads.
      state: new SimulatedState(
        this.#states.open(
          this.#store.mayLack ? 'side' : status,
          request.block,
          stateRootUnder(this.#store, request.block, base.header),
        ),
      ),
      ancestorHash: (number) => (number > base.header.number ? hashes.get(number) : base.hashOf(number)),
      watch,
      firstTransaction: () => this.#firstTransactionOf(request.block.hash as Hash32),
      ...request,
    })
    const json = new JsonBytes(answerBytesExpected)
    let parent: SimulatedParent = base
    for (const [at, block] of planned.entries()) {
      watch.look()
      let bytes = json.length
      const simulated = simulator.run(block, parent, (call) => {
        bytes += jsonBytesOf(call)
        if (bytes > answerBytesMax) throw new FaultError({ kind: 'ResponseTooLarge' })
      })
      const { header, hash } = simulated
      const totalDifficulty: bigint = parent.totalDifficulty + header.difficulty
      parent = { header, hash, totalDifficulty }
      hashes.set(header.number, hash)
      json.text(at === 0 ? '[' : ',')
      writeSimulatedBlock(json, simulated, totalDifficulty, request.isFull)
    }
    json.text(']')
    return json.finish()
  }

  #firstTransactionOf(hash: Hash32): BlockItem | undefined {
    const body = this.#store.readBody(hash)
    const [item] = body === undefined ? [] : rlpList(decodeRlpList(body)[0])
    return item && { type: item instanceof Uint8Array ? (item[0] as number) : 0, item }
  }

  #baseOf({ hash, isPending }: BlockReference): Base {
    const row = this.#store.readHeader(hash as Hash32)
    if (row === undefined) throw new FaultError({ kind: 'HeaderForHashNotFound' })
    const named = decodeHeader(row)
    refuseUnknownFork(named)
    const total = totalDifficulty(this.#store, hash as Hash32)
    if (!isPending) {
      const before = ancestorsOf(this.#store, named, hash)
      const hashOf = (number: number) => (number === named.number ? (hash as Hash32) : before(number))
      return { header: named, hash: hash as Hash32, totalDifficulty: total, hashOf }
    }
    const header = readPendingHeader(this.#store, named, hash as Hash32, this.#schedule, total)
    const own = headerHash(encodeHeader(header))
    const before = ancestorsOf(this.#store, header, undefined)
    const hashOf = (number: number) => (number === header.number ? own : before(number))
    return { header, hash: own, totalDifficulty: total + header.difficulty, hashOf }
  }
}
