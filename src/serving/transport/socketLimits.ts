/** Limits of one WebSocket, and of all together. */
import type { SubscriptionLimits } from '../streams/subscriberPool.js'

export interface SocketLimits {
  readonly messageBytesMax: number
  /** Calls of one socket that wait at the same time, for a job or for unsent answers. */
  readonly callsMax: number
  /** Unsent bytes above which a further send ends the connection. */
  readonly unsentBytesMax: number
  /** Unsent bytes and waiting messages of all sockets. */
  readonly bufferedBytesMax: number
  readonly socketsMax: number
  readonly socketsPerKeyMax: number
  readonly pingMs: number
  /** Maximum time without any data from the client, not even a pong. */
  readonly idleMsMax: number
  /** Maximum time that a closing connection waits until everything is sent. */
  readonly endMsMax: number
  readonly subscriptions: SubscriptionLimits
}
