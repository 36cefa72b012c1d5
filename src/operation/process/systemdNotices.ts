/**
 * Reports the server's state to systemd if a unit of `Type=notify` started it: ready, reloading, stopping, and alive
 * (the watchdog). Node.js has no datagram sockets of the Unix domain, so the program `systemd-notify` sends each
 * message. It is installed wherever systemd is.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setInterval } from '../../primitives/timers.js'

interface SystemdNoticesOptions {
  /** Usually the environment of the process. Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Whether the server still works; if it does not for long, the watchdog restarts it. */
  isWell(): boolean
  /** Called with the first message that cannot be sent. */
  onFailure(why: string): void
}

export class SystemdNotices {
  readonly #options: SystemdNoticesOptions
  readonly #isThere: boolean
  /** The last message, once it is sent. */
  #sent: Promise<void> = Promise.resolve()
  #hasFailed = false
  #watchdog: NodeJS.Timeout | undefined

  constructor(options: SystemdNoticesOptions) {
    this.#options = options
    this.#isThere = (options.env.NOTIFY_SOCKET ?? '') !== ''
  }

  /** Reports that the server answers. Begins the watchdog's messages if systemd waits for them. */
  ready(): void {
    this.#send('READY=1')
    const { WATCHDOG_USEC: usec = '', WATCHDOG_PID: pid = '' } = this.#options.env
    const isMeant = Number(usec) > 0 && (pid === '' || Number(pid) === process.pid)
    if (!this.#isThere || !isMeant || this.#watchdog !== undefined) return
    // Twice within the limit, as sd_watchdog_enabled(3) recommends.
    this.#watchdog = setInterval(() => {
      if (this.#options.isWell()) this.#send('WATCHDOG=1')
    }, Number(usec) / 2_000)
    this.#watchdog.unref()
  }

  /** Call {@link ready} after the reload. */
  reloading(): void {
    // systemd compares this time with its own, to distinguish this message from those of an earlier reload.
    this.#send('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1_000n}`)
  }

  stopping(): void {
    this.#send('STOPPING=1')
  }

  /** Resolves once all messages are sent. */
  async close(): Promise<void> {
    clearInterval(this.#watchdog)
    await this.#sent
  }

  /** Messages are sent one after another, so that they arrive in order. */
  #send(...assignments: readonly string[]): void {
    if (!this.#isThere) return
    this.#sent = this.#sent.then(() => this.#run(assignments)).catch((error: Error) => this.#fail(error))
  }

  async #run(assignments: readonly string[]): Promise<void> {
    const { PATH, NOTIFY_SOCKET } = this.#options.env
    const child = spawn('systemd-notify', assignments, { stdio: 'ignore', env: { PATH, NOTIFY_SOCKET } })
    const [status] = await once(child, 'exit')
    if (status !== 0) throw new Error(`systemd-notify ended with status ${status}`)
  }

  /** Later messages are still sent: without the watchdog's, systemd would end a healthy server. */
  #fail({ message }: Error): void {
    if (!this.#hasFailed) this.#options.onFailure(message)
    this.#hasFailed = true
  }
}
