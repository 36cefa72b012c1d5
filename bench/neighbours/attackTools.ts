/**
 * Tools for attacks: repeated requests, connections for raw bytes, WebSockets. Owns counting answers and errors.
 * Nothing is cleaned up, because an attacker's process ends with its attack.
 */
import { once } from 'node:events'
import { Agent, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { frame } from '../../test/transport/socketClient.js'
import { exchange } from './exchange.js'
import { answerKind, failureKind, lookedAtBytes, Tally } from './tally.js'

/** Wait after a failed connection. */
const retryMs = 20

/** A WebSocket, and its TCP connection for invalid bytes. */
export interface RawSocket {
  readonly socket: WebSocket
  readonly connection: Socket
}

export interface Attack {
  readonly name: string
  readonly title: string
  /** Runs only alone, because another attack includes it. */
  readonly isAlone?: boolean
  /** Starts the attack and returns. */
  drive(tools: AttackTools): void
}

export class AttackTools {
  readonly tally = new Tally()
  isOver = false
  readonly #url: URL
  #serial = Date.now() * 1_000

  /** `url` ends with the attacker's key; `neighbour` is another key's id, which is not secret. */
  constructor(
    url: string,
    readonly neighbour: string,
  ) {
    this.#url = new URL(url)
  }

  /** Path of the attacker's HTTP requests. */
  get path(): string {
    return this.#url.pathname
  }

  /** The attacker's URL for a network other than the first; `before` is its path, such as `/made`. */
  urlOf(before: string): URL {
    return new URL(before + this.#url.pathname, this.#url)
  }

  /** A number that was never used before, in any run, for requests that must be new. */
  serial(): number {
    return this.#serial++
  }

  /** Repeats `work`, `lanes` at the same time. Failures are counted. */
  repeat(lanes: number, work: () => Promise<void>): void {
    const lane = async () => {
      while (!this.isOver) {
        try {
          await work()
        } catch (error) {
          this.tally.add(failureKind(error))
          await setTimeout(retryMs)
        }
      }
    }
    for (let started = 0; started < lanes; started++) void lane()
  }

  /** Sends requests on kept-alive connections, on each the next one as soon as an answer has arrived. */
  ask(connections: number, next: () => string | Uint8Array): void {
    const agent = new Agent({ keepAlive: true, maxSockets: connections })
    this.repeat(connections, async () => {
      const { status, text } = await exchange(this.#url, agent, next(), lookedAtBytes)
      this.tally.add(`${status} ${answerKind(text)}`)
    })
  }

  /** A TCP connection to the server. */
  async connect(): Promise<Socket> {
    const connection = connect({
      host: this.#url.hostname,
      port: Number(this.#url.port),
      noDelay: true,
    })
    await once(connection, 'connect')
    // Errors are reported to the writer.
    connection.on('error', () => {})
    return connection
  }

  /** Reads HTTP answers and counts them by status. */
  readStatuses(connection: Socket): void {
    connection.on('data', (chunk) => {
      for (const [, status] of chunk.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3})/g)) {
        this.tally.add(status as string)
      }
    })
  }

  /** Opens a WebSocket with the attacker's key, to the first network or another. Counts its messages and its end. */
  async openSocket(network = ''): Promise<RawSocket> {
    const url = this.urlOf(`${network}/ws`)
    url.protocol = 'ws:'
    const socket = new WebSocket(url, { perMessageDeflate: false, autoPong: false })
    const upgrade = once(socket, 'upgrade') as Promise<[IncomingMessage]>
    socket.on('error', (error) => this.tally.add(`WebSocket ${failureKind(error)}`))
    socket.on('close', (code) => this.tally.add(`WebSocket closed ${code}`))
    socket.on('message', (data: Buffer) => {
      const kind = answerKind(data.toString('latin1', 0, lookedAtBytes))
      this.tally.add(`message ${kind}`)
    })
    socket.on('pong', () => this.tally.add('pong'))
    const [[response]] = await Promise.all([upgrade, once(socket, 'open')])
    return { socket, connection: response.socket }
  }

  /** Sends messages and never reads the answers. */
  async neverRead({ connection }: RawSocket, messages: readonly string[]): Promise<void> {
    connection.pause()
    for (const message of messages) await write(connection, frame(0x1, Buffer.from(message)))
    await ended(connection)
  }
}

/** Resolves once the operating system has accepted all bytes. Rejects if the connection ends first. */
export function write(connection: Socket, bytes: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.write(bytes, (error) => (error ? reject(error) : resolve()))
  })
}

/** Resolves at the end of a connection, also if it has ended already. */
export async function ended(connection: Socket): Promise<void> {
  if (!connection.destroyed) await new Promise((resolve) => connection.once('close', resolve))
}
