import type { SocketLimits } from '../src/transport/socket.js'

/** Limits that no test meets by accident. */
export const wideSocketLimits: SocketLimits = {
  messageBytesMax: 32 * 2 ** 20,
  callsMax: 256,
  unsentBytesMax: 32 * 2 ** 20,
  bufferedBytesMax: 256 * 2 ** 20,
  socketsMax: 10_000,
  socketsPerKeyMax: 10_000,
  pingMs: 30_000,
  idleMsMax: 120_000,
  subscriptions: { subscriptionsMax: 1_024, queueBytesDefault: 2 ** 20, queueBytesMax: 16 * 2 ** 20 },
}
