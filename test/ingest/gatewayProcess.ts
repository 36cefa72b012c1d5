/**
 * A gateway's source in a process of its own, which a test may kill at any moment. Run as a program, it is that
 * process.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.js'
import type { Wanted } from '../../src/primitives/notStored.js'
import { runGateway } from '../../src/sources/ingest/gateway/runGateway.js'
import type { CallAnswerer } from '../../src/sources/ingest/thread/callAnswerer.js'
import type { GatewayTask } from '../../src/sources/ingest/thread/messages.js'
import { once, waitFor } from '../library/until.js'
import { type ArchiveNode, gatewayTask, type Place } from './gatewayRig.js'

/** A message of the process: a message of the source by its type. */
interface Reported {
  readonly type: string
}

export class GatewayProcess {
  readonly #child: ChildProcess
  #heads = 0
  #seen = 0
  #isOpen = false
  #isKilled = false

  private constructor(child: ChildProcess) {
    this.#child = child
    child.on('message', ({ type }: Reported) => {
      if (type === 'head') this.#heads++
      if (type === 'opened') this.#isOpen = true
    })
  }

  /** Resolves once the process has a head. */
  static async start(folder: string, archive: ArchiveNode): Promise<GatewayProcess> {
    const task = gatewayTask(join(folder, 'gateway.mdb'), [archive], {})
    const child = fork(fileURLToPath(import.meta.url), [JSON.stringify(task)], { stdio: 'inherit' })
    const gateway = new GatewayProcess(child)
    await waitFor('the store', () => gateway.#isOpen)
    await waitFor('subscriptions', () => archive.node.subscribers > 0)
    return gateway
  }

  /** Makes the process prove places after its head, one after the other, until it is killed. */
  async fetchAll(archive: ArchiveNode, places: readonly Place[]): Promise<void> {
    for (const { address, slots } of places) {
      if (this.#isKilled) return
      const { hash } = archive.head
      const { stateRoot } = archive.header(hash)
      const wanted = [hash, stateRoot, address, ...slots].map(bytesToHex)
      this.#child.send(wanted)
      await new Promise(setImmediate)
    }
  }

  /** Resolves once the process reports another head than at the last call. */
  async reported(): Promise<void> {
    await waitFor('a head', () => this.#heads > this.#seen)
    this.#seen = this.#heads
  }

  async kill(): Promise<void> {
    this.#isKilled = true
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const task = JSON.parse(process.argv[2] as string) as GatewayTask
  let calls: CallAnswerer | undefined
  let serial = 0
  process.on('message', (texts: readonly string[]) => {
    const [block, stateRoot, address, ...slots] = texts.map(hexToBytes)
    const wanted = { kind: 'state', block, stateRoot, address, slots } as unknown as Wanted
    calls?.take({ type: 'call', serial: ++serial, name: 'fetch', args: [wanted] })
  })
  await runGateway(task, {
    report: ({ type }) => process.send?.({ type }),
    signal: new AbortController().signal,
    onReady: (ready) => {
      calls = ready
    },
  })
}
