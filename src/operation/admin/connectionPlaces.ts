import type { Socket } from 'node:net'

/**
 * The places of connections. If all are taken, a new connection gets the place of an idle one. The address with the
 * most idle connections loses the one that is idle longest. A connection is idle before its first request, between two
 * requests, and while its client does not read. So a client that opens many connections takes places only from itself.
 */
export class ConnectionPlaces {
  readonly #max: number
  readonly #resting = new Set<Socket>()
  /** Connection → its requests that are being answered. */
  readonly #working = new Map<Socket, number>()

  constructor(max: number) {
    this.#max = max
  }

  /** Takes a place until the connection closes. Ends the connection if all others are busy. */
  take(socket: Socket): void {
    if (this.#resting.size + this.#working.size >= this.#max) {
      const other = this.#next()
      if (other === undefined) {
        socket.destroy()
        return
      }
      this.#resting.delete(other)
      other.destroy()
    }
    this.#resting.add(socket)
    socket.once('close', () => {
      this.#resting.delete(socket)
      this.#working.delete(socket)
    })
  }

  /** Marks a connection as busy: one of its requests is being answered. */
  begin(socket: Socket): void {
    if (socket.destroyed) return
    this.#resting.delete(socket)
    this.#working.set(socket, (this.#working.get(socket) ?? 0) + 1)
  }

  /** The answer to one of its requests is complete. */
  end(socket: Socket): void {
    const left = (this.#working.get(socket) ?? 0) - 1
    if (left > 0) this.#working.set(socket, left)
    else if (this.#working.delete(socket)) this.#resting.add(socket)
  }

  #next(): Socket | undefined {
    const counts = new Map<string | undefined, number>()
    for (const { remoteAddress } of this.#resting)
      counts.set(remoteAddress, (counts.get(remoteAddress) ?? 0) + 1)
    let most = 0
    for (const count of counts.values()) most = Math.max(most, count)
    return [...this.#resting].find(({ remoteAddress }) => counts.get(remoteAddress) === most)
  }
}
