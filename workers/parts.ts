/** The port of this thread, over which jobs send parts of their results. */
import type { MessagePort } from 'node:worker_threads'
import type { JobPart } from '../src/serving/pool/messages.js'

let port: MessagePort | undefined

/** Must be called before the first job. */
export function openParts(own: MessagePort): void {
  port = own
}

/** Sends a part, whose memory is transferred. */
export function sendPart(serial: number, part: Uint8Array<ArrayBuffer>): void {
  if (port === undefined) throw new Error('a part was sent outside of a job')
  port.postMessage({ serial, part } satisfies JobPart, [part.buffer])
}
