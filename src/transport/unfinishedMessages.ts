/**
 * Messages of WebSockets that are not whole yet: node:http's are counted as they arrive, those of uWebSockets.js lie in
 * its memory unseen, so that what multiplies is bounded instead: the longest message times the WebSockets of a key.
 */
import type { Transport } from './wire.js'

const MiB = 2 ** 20

/** What unfinished messages of one key may take where nobody sees them. */
const unseenBytesMax = 1024 * MiB

/** geth's limit, where they are counted; else one that leaves a key 1,024 WebSockets, and a batch 1,000 calls of 1 KiB. */
export function messageBytesDefault({ tellsUnfinished }: Transport): number {
  return tellsUnfinished ? 32 * MiB : MiB
}

/** WebSockets that a key may have for the sake of {@link unseenBytesMax}. */
export function socketsPerKeyFor({ tellsUnfinished }: Transport, messageBytesMax: number): number {
  return tellsUnfinished
    ? Number.POSITIVE_INFINITY
    : Math.max(Math.floor(unseenBytesMax / messageBytesMax), 1)
}
