/** What bounds one WebSocket and all of them together. */
import type { SubscriptionLimits } from '../streams/subscriberPool.js'

export interface SocketLimits {
  /** Bytes of one message. */
  readonly messageBytesMax: number
  /** Calls of one socket that wait at the same time, for a job or for unsent answers. */
  readonly callsMax: number
  /** Bytes that may lie unsent when something more is to be sent. */
  readonly unsentBytesMax: number
  /** Unsent bytes and waiting messages of all sockets. */
  readonly bufferedBytesMax: number
  readonly socketsMax: number
  readonly socketsPerKeyMax: number
  /** From one ping to the next. */
  readonly pingMs: number
  /** How long a client may be silent, pongs included. */
  readonly idleMsMax: number
  /** How long a connection that is to end waits until what was sent is read. */
  readonly endMsMax: number
  readonly subscriptions: SubscriptionLimits
}
