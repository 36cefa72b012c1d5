import type { MessagePort } from 'node:worker_threads'
import { type Deferred, defer } from '../../primitives/deferred.js'
import { FaultError } from '../../primitives/faults.js'
import type { JobOwner, NetworkJobs } from '../../serving/pool/jobs.js'
import { decodeReply, encodeArgs } from '../../serving/pool/messages.js'
import type { SubmissionRow } from '../../serving/rollup/submissionService.js'
import type { RequestContext } from '../../serving/rpc/contexts/requestContext.js'
import type { FilterService } from '../../serving/rpc/logs/filterService.js'
import { ChainFeed } from './chainFeed.js'
import type { Edge } from './edge.js'
import type { AskedCall, AskedJob, CallName, EdgeCommand, EdgeData, EdgeMessage } from './messages.js'

type Question =
  | Pick<AskedCall, 'type' | 'name' | 'args'>
  | Pick<AskedJob, 'type' | 'name' | 'network' | 'args'>

interface Pending {
  readonly outcome: Deferred<unknown>
  readonly owner: JobOwner | undefined
  readonly cancel: () => void
}

/**
 * Emptied by the reply: a deleted entry stays in a map's old tables until the garbage collector marks the whole heap.
 */
interface Slot {
  pending: Pending | undefined
}

/** An edge's side of the connection to the main thread: commands received, and calls made. */
export class MainLink {
  readonly #port: MessagePort
  readonly #feeds = new Map<string, ChainFeed>()
  readonly #statusListeners = new Map<string, (row: SubmissionRow) => void>()
  readonly #slots = new Map<number, Slot>()
  #serial = 0

  /** `sources`: see {@link EdgeData}. */
  constructor(port: MessagePort, sources: EdgeData['sources']) {
    this.#port = port
    for (const [network, state] of sources) this.#feeds.set(network, new ChainFeed(state))
    port.on('message', (command: EdgeCommand) => this.#take(command))
  }

  /** Calls `listener` when the main thread asks the edge to close or to abandon its server. */
  onEnd(listener: (how: 'close' | 'abandon') => void): void {
    this.#port.on('message', ({ type }: EdgeCommand) => {
      if (type === 'close' || type === 'abandon') listener(type)
    })
  }

  /** Makes `edge` follow the commands for a serving edge. */
  obey(edge: Pick<Edge, 'drain' | 'apply'>): void {
    this.#port.on('message', (command: EdgeCommand) => {
      if (command.type === 'drain') edge.drain()
      else if (command.type === 'reload') edge.apply(command.settings)
    })
  }

  feedOf(network: string): ChainFeed {
    const feed = this.#feeds.get(network) ?? new ChainFeed()
    this.#feeds.set(network, feed)
    return feed
  }

  /** Calls `listener` with every status change of a rollup's transactions. */
  onStatus(rollup: string, listener: (row: SubmissionRow) => void): void {
    this.#statusListeners.set(rollup, listener)
  }

  /** The jobs of one network, run by the pool of the process. */
  jobsOf(network: string): NetworkJobs {
    return {
      run: (name, args, owner) => {
        const encoded = encodeArgs(args)
        return this.#ask({ type: 'job', name, network, args: encoded }, owner) as never
      },
    }
  }

  /** A network's polled filters, which the main thread owns. */
  filtersOf(network: string): FilterService {
    const call = (name: keyof FilterService, argument: unknown, context: RequestContext) =>
      this.call('filter', [network, name, argument], context) as never
    return {
      create: (request, context) => call('create', request, context),
      changes: (id, context) => call('changes', id, context),
      logs: (id, context) => call('logs', id, context),
      uninstall: (id, context) => call('uninstall', id, context),
    }
  }

  /** Makes a call. Rejects with the handler's exception: a FaultError unchanged, others with message and stack. */
  call(name: CallName, args: unknown, owner?: JobOwner): Promise<unknown> {
    return this.#ask({ type: 'call', name, args: encodeArgs(args) }, owner)
  }

  #ask(question: Question, owner: JobOwner | undefined): Promise<unknown> {
    if (owner?.isFinished) return Promise.reject(new FaultError({ kind: 'RequestTimedOut' }))
    const serial = this.#serial++
    const cancel = () => this.send({ type: 'cancel', serial })
    const outcome = defer<unknown>()
    this.#slots.set(serial, { pending: { outcome, owner, cancel } })
    owner?.onFinished(cancel)
    this.send({ ...question, serial, keyId: owner?.keyId, weight: owner?.weight }, [question.args.buffer])
    return outcome.promise
  }

  send(message: EdgeMessage, transfer: readonly ArrayBuffer[] = []): void {
    this.#port.postMessage(message, transfer)
  }

  /** Closes the port, so that the thread can end. */
  close(): void {
    this.#port.close()
  }

  #take(command: EdgeCommand): void {
    if (command.type === 'moved') this.feedOf(command.network).publish(command.state)
    else if (command.type === 'status') this.#statusListeners.get(command.rollup)?.(command.row)
    else if (command.type === 'part') this.#takePart(command)
    else if (command.type === 'reply') this.#settle(command)
  }

  #takePart({ serial, part }: Extract<EdgeCommand, { type: 'part' }>): void {
    this.#slots.get(serial)?.pending?.owner?.takePart?.(part, () => this.send({ type: 'taken', serial }))
  }

  #settle({ serial, reply, cpuMs }: Extract<EdgeCommand, { type: 'reply' }>): void {
    const slot = this.#slots.get(serial)
    if (slot?.pending === undefined) return
    const { pending } = slot
    this.#slots.delete(serial)
    slot.pending = undefined
    pending.owner?.forget(pending.cancel)
    pending.owner?.ran(cpuMs)
    try {
      pending.outcome.resolve(decodeReply(reply))
    } catch (thrown) {
      pending.outcome.reject(thrown as Error)
    }
  }
}
