/**
 * Bounds the memory of unfinished WebSocket messages. With node:http they are counted as they arrive. uWebSockets.js
 * does not report them; there the maximum message times the WebSockets of a key is bounded.
 */
import type { Transport } from './wire.js'

const MiB = 2 ** 20

/** Maximum memory of unfinished messages of one key if they are not reported. */
const unseenBytesMax = 1024 * MiB

/**
 * geth's limit if unfinished messages are counted. Otherwise 4 MiB, twice a transaction with six blobs in hex, which
 * allows a key 256 WebSockets.
 */
export function messageBytesDefault({ reportsUnfinished }: Transport): number {
  return reportsUnfinished ? 32 * MiB : 4 * MiB
}

/** Maximum WebSockets of a key within {@link unseenBytesMax}. */
export function socketsPerKeyFor({ reportsUnfinished }: Transport, messageBytesMax: number): number {
  return reportsUnfinished
    ? Number.POSITIVE_INFINITY
    : Math.max(Math.floor(unseenBytesMax / messageBytesMax), 1)
}
