/**
 * Connections to a given edge of a program with several. The kernel assigns connections to edges, so connections are
 * opened until one reaches the wanted edge. The program's log shows the edge; it must log every request
 * (`logSample: 1`).
 */
import type { ChildProcess } from 'node:child_process'
import { Agent, type ClientRequestArgs } from 'node:http'
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import type { Duplex, Readable } from 'node:stream'
import type { Test } from 'tap'
import { inTime, once } from '../library/until.js'
import type { Service } from '../service/service.js'

/** With two edges, this many connections reach the same one once in 10^18 times. */
const attemptsMax = 60

let asked = 0

/** Callbacks for the log lines of expected requests, per program. The whole log may have megabytes. */
const takers = new WeakMap<ChildProcess, Map<string, (line: string) => void>>()

/** The log line of the request with this id, which is not sent yet. */
function lineOf({ process: program }: Service, id: string): Promise<string> {
  const waiting = takers.get(program) ?? listenTo(program)
  return new Promise((resolve) => waiting.set(id, resolve))
}

function listenTo(program: ChildProcess): Map<string, (line: string) => void> {
  const waiting = new Map<string, (line: string) => void>()
  takers.set(program, waiting)
  createInterface({ input: program.stderr as Readable }).on('line', (line) => {
    const id = /"request":"(which-edge-\d+)"/.exec(line)?.[1]
    if (id === undefined) return
    waiting.get(id)?.(line)
    waiting.delete(id)
  })
  return waiting
}

/** Opens a connection to the edge with this number; one request was answered on it. */
export async function connectToEdge(service: Service, edge: number): Promise<Socket> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(service.origin).port), noDelay: true })
    const id = `which-edge-${asked++}`
    const body = '{"jsonrpc":"2.0","id":1,"method":"net_listening"}'
    const reported = lineOf(service, id)
    socket.write(
      `POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nx-request-id: ${id}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    await once(socket, 'readable')
    const line = await inTime(`the log line of ${id}`, reported)
    const answer = String(socket.read())
    if (!answer.endsWith('}')) throw new Error(`a short answer came in parts: ${answer}`)
    // The server may have closed it while its line waited behind a long log.
    if ((JSON.parse(line).edge ?? 0) === edge && !socket.destroyed) return socket
    socket.destroy()
  }
  throw new Error(`of ${attemptsMax} connections none came to edge ${edge}`)
}

/** Keeps connections to one edge; also for the `agent` of WebSockets. */
export class EdgeAgent extends Agent {
  readonly #connect: () => Promise<Socket>

  constructor(t: Test, service: Service, edge: number) {
    super({ keepAlive: true, maxSockets: 2 })
    this.#connect = () => connectToEdge(service, edge)
    t.teardown(() => this.destroy())
  }

  override createConnection(
    _options: ClientRequestArgs,
    callback?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    this.#connect().then(
      (socket) => callback?.(null, socket),
      (error) => callback?.(error, undefined as never),
    )
  }
}
