/**
 * Traces transactions, blocks and messages of one store: selects and orders them. The JSON result is passed on in parts
 * as it is written. Owns no form of a trace, which the tracers own.
 */

import type { StateView } from '../../../data/state/stateView.js'
import type { ChainRows } from '../../../data/store/chainRows.js'
import { creationAddress } from '../../../primitives/addresses.js'
import { bytesToHex, latin1Key } from '../../../primitives/bytes.js'
import { FaultError, messageRefused } from '../../../primitives/faults.js'
import { JsonBytes } from '../../../primitives/jsonBytes.js'
import type { BlockContext } from '../blocks/blockContext.js'
import { BlockReplays, type ReplayedBlock } from '../blocks/blockReplay.js'
import { ReplayedStates } from '../blocks/replayedStates.js'
import { JobWatch } from '../engine/jobWatch.js'
import { OwnKernel } from '../engine/kernel.js'
import { KernelState } from '../engine/kernelState.js'
import { applyOverrides } from '../messages/applyOverrides.js'
import type { BlockOverrides, BlockReference } from '../messages/executionRequest.js'
import { askedGas, refusingWith, startWithAskedGas } from '../messages/gasBounds.js'
import { movePrecompiles, ownPrecompiles, type Precompiles } from '../precompiles/precompileMoves.js'
import { recoverAuthorities } from '../transactions/authorizations.js'
import { priceTransaction, type Transaction } from '../transactions/pricedTransaction.js'
import { readSentTransaction } from '../transactions/sentTransaction.js'
import type { SignedTransaction } from '../transactions/signedTransaction.js'
import { applyTransaction, runTransaction } from '../transactions/transaction.js'
import { CallResult } from './callResult.js'
import { closeSandboxes } from './javascriptEngine.js'
import { TracedKernel } from './kernelEvents.js'
import { ParityTracer } from './parityTracer.js'
import type { TracedCall, TracedCalls, TraceLimits, TraceRequest, TraceSubject } from './traceRequest.js'
import type { TracedTransaction, TraceOutput, Tracer } from './tracer.js'
import { createTracer } from './tracerOptions.js'

/** Bytes of a part: its JSON takes far longer to write than to pass on (scenario `trace-stream`). */
const partBytes = 256 * 1024

/** Steps of {@link JobWatch.take} for the JSON between two flushes: an instruction, a call, an account. */
const stepsPerFlush = 32

/** Memory above which a kernel is replaced, because WebAssembly never frees any. */
const grownBytesMax = 2 ** 26

/** Limit of bytes that a tracer keeps until the end of a transaction: a tenth of a thread's heap. */
const resultBytesMax = 48 * 2 ** 20

/** Time between the blocks of two bundles of calls. */
const secondsPerSlot = 12n

/** The place at which a message runs. */
interface MessagePlace {
  readonly block: BlockReference
  readonly gasMax: bigint
  readonly context: BlockContext
  readonly numbers: Precompiles
}

/** Members of a traced transaction that the caller provides. */
type RunTransaction = Omit<
  TracedTransaction,
  'target' | 'isCreation' | 'authorizationList' | 'isPrecompile' | 'state'
> &
  Pick<Transaction, 'to' | 'authorizationList'>

/** A trace in progress. */
interface Run {
  /** Makes a tracer for each transaction. */
  readonly newTracer: () => Tracer
  readonly watch: JobWatch
  readonly output: Output
}

/** Takes a part and returns once there is room for the next. Throws to end the trace. */
type TakePart = (part: Uint8Array<ArrayBuffer>) => void

export class Tracing {
  readonly #replays: BlockReplays
  /** Absent on a gateway: each trace reports how the fetched rows are verified. */
  readonly #states: ReplayedStates | undefined
  readonly #store: ChainRows
  readonly #limits: TraceLimits
  #traced = new TracedKernel()
  /** Computes states within blocks. */
  readonly #before = new OwnKernel(grownBytesMax)

  constructor(store: ChainRows, limits: TraceLimits) {
    this.#store = store
    this.#limits = limits
    this.#replays = new BlockReplays(store)
    if (store.mayLack !== true) this.#states = new ReplayedStates(this.#replays)
  }

  /**
   * Traces, and returns the last part of the JSON; the others go to `take`. Throws FaultError for unknown blocks or
   * transactions and for exceeded limits, also after some parts were taken; NotStoredError only before.
   */
  trace(request: TraceRequest, shouldStop: () => boolean, take: TakePart): Uint8Array<ArrayBuffer> {
    this.#store.refresh()
    if (this.#traced.kernel.grownBytes > grownBytesMax) this.#traced = new TracedKernel()
    this.#before.trim()
    try {
      // First without output: a part that was sent cannot be taken back if a row turns out to be missing.
      if (this.#store.mayLack) this.#run(request, shouldStop, () => {})
      return this.#run(request, shouldStop, take)
    } finally {
      closeSandboxes()
      this.#traced.end()
      this.#traced.kernel.clear()
      this.#before.clear()
    }
  }

  /** Returns the last part. */
  #run(
    { subject, tracer, timeMs }: TraceRequest,
    shouldStop: () => boolean,
    take: TakePart,
  ): Uint8Array<ArrayBuffer> {
    const limits = {
      ...this.#limits,
      timeMsMax: Math.min(timeMs ?? this.#limits.timeMsMax, this.#limits.timeMsMax),
    }
    const watch = new JobWatch(shouldStop, limits)
    const output = new Output(take, limits.answerBytesMax, watch, tracer.tracer !== 'javascript')
    if (tracer.tracer === 'parity') {
      const list = new ParityTracer(tracer)
      this.#list(subject, list, { newTracer: () => list, watch, output })
    } else this.#trace(subject, { newTracer: () => createTracer(tracer, watch), watch, output })
    return output.finish()
  }

  #trace(subject: TraceSubject, run: Run): void {
    switch (subject.kind) {
      case 'block':
        return this.#traceBlock(subject, run)
      case 'transaction':
        return this.#traceOne(subject, run)
      case 'calls':
        return this.#traceCalls(subject, run)
      case 'range':
        throw new Error('several blocks are traced only as a list')
    }
  }

  #list(subject: TraceSubject, tracer: ParityTracer, run: Run): void {
    tracer.open(run.output)
    if (subject.kind === 'block') this.#listBlock(subject.blockHash, tracer, run)
    else if (subject.kind === 'transaction') this.#traceOne(subject, run)
    else if (subject.kind === 'range') {
      const hashAt = this.#replays.hashesUpTo(subject.head)
      for (let number = subject.first; number <= subject.last && !tracer.isFull; number++) {
        run.watch.look()
        // The genesis block has no transactions or rewards.
        if (number > 0) this.#listBlock(hashAt(number), tracer, run)
      }
    } else throw new Error('a message is not traced as a list')
    tracer.close()
  }

  #listBlock(hash: Uint8Array, tracer: ParityTracer, run: Run): void {
    const block = this.#replays.read(hash)
    const { transactions, header, rewards } = block
    if (transactions.length > 0) this.#runBefore(block, 0, run.watch)
    for (const index of transactions.keys()) {
      if (tracer.isFull) return
      this.#traceTransaction(block, index, run)
    }
    // As in OpenEthereum, the block's own reward comes before those of its uncles.
    for (const reward of rewards.toReversed()) tracer.reward(reward, hash, header.number)
  }

  #traceOne({ blockHash, index }: TraceSubject & { kind: 'transaction' }, run: Run): void {
    const block = this.#states?.find(blockHash) ?? this.#replays.read(blockHash)
    const start = this.#states?.before(block, index, () => this.#before.kernel, run.watch)
    if (start === undefined) this.#runBefore(block, index, run.watch)
    else {
      this.#replays.attach(this.#traced.kernel, block, start.state, run.watch)
      this.#traced.logs = start.logsBefore
    }
    this.#traceTransaction(block, index, run)
  }

  #traceBlock({ blockHash, isPlain = false }: TraceSubject & { kind: 'block' }, run: Run): void {
    const block = this.#replays.read(blockHash)
    this.#runBefore(block, 0, run.watch)
    const { json } = run.output
    for (const [index, { hash }] of block.transactions.entries()) {
      json.text(index === 0 ? '[' : ',')
      if (!isPlain) json.put`{"txHash":${hash},"result":`
      this.#traceTransaction(block, index, run)
      if (!isPlain) json.text('}')
      run.output.flush()
    }
    json.text(block.transactions.length === 0 ? '[]' : ']')
  }

  /** Runs the transactions of a block before the one at `index`. */
  #runBefore(block: ReplayedBlock, index: number, watch: JobWatch, kernel = this.#traced.kernel): void {
    this.#traced.logs = 0
    this.#replays.begin(kernel, block, watch)
    for (const transaction of block.transactions.slice(0, index)) {
      this.#replays.run(kernel, block, transaction, watch)
      this.#traced.logs += kernel.logs.length
    }
  }

  #traceTransaction(block: ReplayedBlock, index: number, run: Run): void {
    const transaction = block.transactions[index] as SignedTransaction
    const { hash, header, context } = block
    const place = { blockHash: hash, blockNumber: header.number, hash: transaction.hash, index }
    const { fork, coinbase } = context
    const { gasPrice } = priceTransaction(transaction, context, 'transaction')
    const facts = { fork, coinbase, place, gasPrice, blockNumber: context.number }
    this.#follow({ ...transaction, ...facts }, ownPrecompiles(fork), run.newTracer(), run, () =>
      this.#replays.run(this.#traced.kernel, block, transaction, run.watch),
    )
  }

  /** Traces `work`, which runs this transaction. */
  #follow(
    { to, authorizationList = [], ...facts }: RunTransaction,
    precompiles: Precompiles,
    tracer: Tracer,
    { watch, output }: Run,
    work: () => { readonly gasUsed: bigint },
  ): void {
    const described: TracedTransaction = {
      ...facts,
      authorizationList,
      target: to ?? creationAddress(facts.sender, this.#traced.account(facts.sender).nonce),
      isCreation: to === undefined,
      isPrecompile: (address) => precompiles.has(latin1Key(address)),
      state: this.#traced,
    }
    tracer.begin(described, output)
    this.#traced.begin(tracer, precompiles, watch)
    const { gasUsed } = work()
    this.#traced.end()
    tracer.end(gasUsed)
  }

  #traceCalls({ block, index, stateOverrides = [], bundles, gasMax, form }: TracedCalls, run: Run): void {
    const { kernel } = this.#traced
    const { watch, output } = run
    const { json } = output
    this.#traced.logs = 0
    kernel.clear()
    const state =
      index === undefined
        ? this.#replays.stateAfter(block.hash, this.#replays.readHeader(block.hash))
        : this.#stateBefore(block.hash, index, watch)
    kernel.limitMemory(watch.limits.memoryBytesMax)
    let overrides: BlockOverrides | undefined
    if (form === 'lists') json.text('[')
    for (const [at, { blockOverrides, calls }] of bundles.entries()) {
      overrides = at === 0 ? blockOverrides : { ...overrides, ...blockOverrides }
      const { context } = this.#replays.contexts.read(block, overrides)
      const { fork, ancestorHash, number, timestamp } = context
      const numbers = movePrecompiles(ownPrecompiles(fork), stateOverrides)
      kernel.attach(fork, { state, ancestorHash, precompiles: { numbers }, watch })
      if (at === 0) applyOverrides(kernel, stateOverrides)
      if (at > 0) json.text(',')
      if (form !== 'one') json.text('[')
      for (const [place, call] of calls.entries()) {
        if (place > 0) json.text(',')
        const tracer = call.tracer === undefined ? run.newTracer() : createTracer(call.tracer, watch)
        this.#traceMessage(call.message, { block, gasMax, context, numbers }, tracer, run)
        output.flush()
      }
      if (form !== 'one') json.text(']')
      overrides = { ...overrides, number: number + 1n, time: timestamp + secondsPerSlot }
    }
    if (form === 'lists') json.text(']')
  }

  #traceMessage(
    message: TracedCall['message'],
    { block, gasMax, context, numbers }: MessagePlace,
    tracer: Tracer,
    run: Run,
  ): void {
    const { kernel } = this.#traced
    const { fork, coinbase, chainId } = context
    const facts = { fork, coinbase, blockNumber: context.number, place: undefined }
    if (message instanceof Uint8Array) {
      const { nonce: _, ...tx } = readSentTransaction(message, fork, chainId)
      const { gasPrice } = priceTransaction(tx, context, 'transaction')
      const authorizations = recoverAuthorities(tx.authorizationList ?? [], chainId, run.watch)
      const blobs = this.#replays.schedule.blobParametersAt(fork)
      const work = () => runTransaction(kernel, context, blobs, undefined, tx, authorizations)
      return this.#follow({ ...tx, ...facts, gasPrice }, numbers, tracer, run, () =>
        refusingWith(messageRefused, work),
      )
    }
    const sender = message.from ?? new Uint8Array(20)
    const balance = kernel.balanceOf(kernel.account(sender))
    const request = { block, message, gasDefault: gasMax, gasMax }
    const words = (why: string) =>
      tracer instanceof CallResult
        ? `err: ${why} (supplied gas ${askedGas(request)})`
        : `tracing failed: ${why}`
    const { priced, gasLimit } = startWithAskedGas(request, context, balance, words)
    const { authorizationList = [], to } = message
    const authorizations = recoverAuthorities(authorizationList, chainId, run.watch)
    const asked = { ...facts, sender, to, gasLimit, gasPrice: priced.gasPrice, authorizationList }
    this.#follow(asked, numbers, tracer, run, () =>
      applyTransaction(kernel, priced, { gasLimit, authorizations, watch: run.watch }, true),
    )
  }

  /** The state before a transaction of a block, computed by another kernel. */
  #stateBefore(hash: Uint8Array, index: number, watch: JobWatch): StateView {
    const block = this.#replays.read(hash)
    if (index >= block.transactions.length && index > 0) {
      throw messageRefused(`transaction index ${index} out of range for block ${bytesToHex(hash)}`)
    }
    const { kernel } = this.#before
    this.#runBefore(block, index, watch, kernel)
    return new KernelState(kernel, this.#replays.stateBefore(block))
  }
}

/** Collects the JSON of one answer and passes it on in parts. */
class Output implements TraceOutput {
  readonly json = new JsonBytes(16 * 1024)
  #bytes = 0
  readonly #take: TakePart
  readonly #bytesMax: number
  readonly #watch: JobWatch
  readonly #isRepeatable: boolean

  /** `isRepeatable`: the same trace gives the same JSON again. Otherwise no part is passed on before the end. */
  constructor(take: TakePart, bytesMax: number, watch: JobWatch, isRepeatable: boolean) {
    this.#take = take
    this.#bytesMax = bytesMax
    this.#watch = watch
    this.#isRepeatable = isRepeatable
  }

  flush(): void {
    this.#watch.take(stepsPerFlush)
    if (!this.#isRepeatable) return this.holding(this.json.length)
    if (this.json.length < partBytes) return
    this.#take(this.finish())
    this.json.clear()
  }

  holding(bytes: number): void {
    if (bytes > resultBytesMax) throw new FaultError({ kind: 'TraceTooLarge', limitBytes: resultBytesMax })
  }

  /** Returns the JSON since the last part. */
  finish(): Uint8Array<ArrayBuffer> {
    this.#bytes += this.json.length
    if (this.#bytes > this.#bytesMax) {
      throw new FaultError({ kind: 'TraceTooLarge', limitBytes: this.#bytesMax })
    }
    return this.json.finish()
  }
}
