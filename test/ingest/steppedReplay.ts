/**
 * A replay whose blocks come when a test permits: `steppedPace.ts` replaces the clock of the program's ingest thread.
 * Over a connection it reports that it waits for the time of its next block, and the test lets it continue.
 */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { Test } from 'tap'
import { until } from '../library/until.js'

export class Steps {
  #replay: Socket | undefined
  /** Number of waits of the replay, and number of permits. */
  #asked = 0
  #given = 0
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
    server.on('connection', (replay) => this.#take(replay))
  }

  /** Listens until the test ends. Only one program at a time may use it. */
  static async listen(t: Test): Promise<Steps> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const steps = new Steps(server)
    t.teardown(() => {
      steps.#replay?.destroy()
      server.close()
    })
    return steps
  }

  /** The environment of a program that will wait for {@link next}; the previous program must have ended. */
  env(): Readonly<Record<string, string>> {
    this.#replay = undefined
    const { port } = this.#server.address() as AddressInfo
    const pace = new URL('steppedPace.js', import.meta.url).href
    const { NODE_OPTIONS = '' } = process.env
    return { NODE_OPTIONS: `${NODE_OPTIONS} --import=${pace}`, STEPS_PORT: String(port) }
  }

  /** Resolves once the replay waits for a block, with all earlier ones stored, or once it has ended. */
  async reached(): Promise<void> {
    await until(() => this.#replay !== undefined && (this.#replay.closed || this.#asked > this.#given))
  }

  /** Permits `count` blocks, as fast as they can come, and resolves as {@link reached}. */
  async next(count = 1): Promise<void> {
    await this.reached()
    this.let(count)
    await this.reached()
  }

  /** Permits `count` blocks. */
  let(count: number): void {
    this.#given += count
    this.#replay?.write(Buffer.alloc(count))
  }

  #take(replay: Socket): void {
    this.#replay = replay
    this.#asked = 0
    this.#given = 0
    replay.on('data', (moments) => {
      this.#asked += moments.length
    })
    replay.on('error', () => {})
  }
}
