import { Worker } from 'node:worker_threads'
import { decodeArgs, encodeResult, encodeThrown } from '../pool/messages.js'
import { defer } from '../primitives/deferred.js'
import { OperatorError } from '../primitives/faults.js'
import { Caller } from '../rpc/caller.js'
import type { CallName, EdgeCommand, EdgeData, EdgeMessage } from './messages.js'

const threadUrl = new URL('../../workers/edge.js', import.meta.url)

/** How long the end of the process waits for an edge to close its server. */
const silentMsMax = 1_000

/** What edges ask for, by name; arguments and results as {@link CallName} says. */
export type CallHandlers = {
  readonly [N in CallName]: (args: never, caller: Caller) => unknown
}

export interface EdgeThreads {
  /** Settles once all listen. Rejects with OperatorError for what the operator can mend, with Error for a defect. */
  readonly listening: Promise<void>
  /** Rejects likewise when one ends that nobody asked to; never resolves. */
  readonly lost: Promise<never>
  /** To every edge. */
  broadcast(command: EdgeCommand): void
  /** Has them answer what is under way and end; resolves when all have. */
  close(): Promise<void>
}

/** The thread of one edge, as the main thread has it. */
interface EdgeThread {
  readonly worker: Worker
  readonly listening: Promise<void>
  /** Resolves with the reason for an end that nobody asked for, undefined for one that was. */
  readonly ended: Promise<Error | undefined>
}

/**
 * Starts `count` edges, numbered from 1, each on a thread of its own. They are never terminated: a thread that ends
 * while uWebSockets.js listens in it takes the process with it (libuv finds an open handle and aborts), and one that
 * ends inside lmdb may. So an edge that meets a defect closes its server first, and so do all before the process exits,
 * for whatever reason. None is started anew: what it counted together with the others would stay counted.
 */
export function startEdgeThreads(
  count: number,
  data: Omit<EdgeData, 'index' | 'silent'>,
  handlers: CallHandlers,
): EdgeThreads {
  const silent = new Int32Array(new SharedArrayBuffer((count + 1) * Int32Array.BYTES_PER_ELEMENT))
  let isClosing = false
  const threads = Array.from({ length: count }, (_, at) =>
    startThread({ ...data, index: at + 1, silent: silent.buffer }, handlers, () => isClosing),
  )
  const broadcast = (command: EdgeCommand) => {
    for (const { worker } of threads) worker.postMessage(command)
  }
  const silence = () => {
    broadcast({ type: 'abandon' })
    for (let index = 1; index <= count; index++) Atomics.wait(silent, index, 0, silentMsMax)
  }
  process.on('exit', silence)
  const allEnded = Promise.all(threads.map(({ ended }) => ended)).finally(() => process.off('exit', silence))
  const lost = defer<never>()
  lost.promise.catch(() => undefined)
  for (const { ended } of threads) {
    void ended.then((reason) => reason !== undefined && lost.reject(reason))
  }
  return {
    listening: Promise.all(threads.map(({ listening }) => listening)).then(() => undefined),
    lost: lost.promise,
    broadcast,
    async close() {
      isClosing = true
      broadcast({ type: 'close' })
      await allEnded
    },
  }
}

type EdgeCall = Extract<EdgeMessage, { type: 'call' }>

/** Stands for a caller of another edge, where what the work took is charged. */
class RelayedCaller extends Caller {
  cpuMs = 0

  override ran(cpuMs: number): void {
    this.cpuMs += cpuMs
  }
}

function startThread(data: EdgeData, handlers: CallHandlers, isClosing: () => boolean): EdgeThread {
  const worker = new Worker(threadUrl, { workerData: data })
  const listening = defer<void>()
  const ended = defer<Error | undefined>()
  listening.promise.catch(() => undefined)
  /** Who waits for the calls under way. */
  const callers = new Map<number, Caller>()
  const answer = async ({ serial, name, args, keyId }: EdgeCall): Promise<void> => {
    const caller = new RelayedCaller(undefined, keyId === undefined ? undefined : { key: { id: keyId } })
    callers.set(serial, caller)
    const reply = await Promise.resolve()
      .then(() => handlers[name](decodeArgs(args) as never, caller))
      .then(encodeResult)
      .catch(encodeThrown)
    callers.delete(serial)
    const { cpuMs } = caller
    worker.postMessage({ type: 'reply', serial, reply, cpuMs } satisfies EdgeCommand, [reply.buffer])
  }
  let failure: Error | undefined
  worker.on('message', (message: EdgeMessage) => {
    switch (message.type) {
      case 'listening':
        return listening.resolve()
      case 'failed':
        failure = message.isDefect ? new Error(message.message) : new OperatorError(message.message)
        if (message.stack !== undefined) failure.stack = message.stack
        return
      case 'call':
        return void answer(message)
      case 'cancel':
        return callers.get(message.serial)?.leave()
    }
  })
  worker.on('error', (error) => {
    failure = error
  })
  worker.on('exit', () => {
    for (const caller of callers.values()) caller.leave()
    if (!isClosing()) failure ??= new Error(`the thread of edge ${data.index} ended`)
    if (failure !== undefined) listening.reject(failure)
    ended.resolve(failure)
  })
  return { worker, listening: listening.promise, ended: ended.promise }
}
