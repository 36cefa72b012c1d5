import type { DispatchLimits } from '../../src/serving/rpc/dispatch/endpoint.js'
import type { FilterLimits } from '../../src/serving/rpc/logs/polledFilters.js'
import type { SubscriptionLimits } from '../../src/serving/streams/subscriberPool.js'
import type { HttpLimits } from '../../src/serving/transport/http.js'
import type { SocketLimits } from '../../src/serving/transport/socket.js'

/** Limits of servers inside a test's process, too high to reach by accident: mostly the configuration's defaults. */
export const wideHttpLimits: HttpLimits = {
  bodyBytesMax: 5 * 2 ** 20,
  bufferedBytesMax: 256 * 2 ** 20,
  bodyMsMax: 30_000,
  closeMsMax: 30_000,
  compressedBytesMax: 2 ** 20,
}

export const wideDispatchLimits: DispatchLimits = {
  batchCallsMax: 1_000,
  callBytesMax: 5 * 2 ** 20,
  batchBytesMax: 25_000_000,
  turnMsMax: Number.POSITIVE_INFINITY,
  requestMsMax: 30_000,
  memoBytesMax: 32 * 2 ** 20,
}

export const wideFilterLimits: FilterLimits = {
  idleMsMax: 300_000,
  bytesPerKeyMax: 8 * 2 ** 20,
  bytesMax: 32 * 2 ** 20,
}

export const wideSubscriptionLimits: SubscriptionLimits = {
  subscriptionsMax: 1_024,
  bytesMax: 4 * 2 ** 20,
  bytesPerKeyMax: 32 * 2 ** 20,
  bytesInAllMax: 128 * 2 ** 20,
  queueBytesDefault: 2 ** 20,
  queueBytesMax: 16 * 2 ** 20,
}

export const wideSocketLimits: SocketLimits = {
  messageBytesMax: 32 * 2 ** 20,
  callsMax: 256,
  unsentBytesMax: 32 * 2 ** 20,
  bufferedBytesMax: 256 * 2 ** 20,
  socketsMax: 10_000,
  socketsPerKeyMax: 10_000,
  pingMs: 30_000,
  idleMsMax: 120_000,
  endMsMax: 30_000,
  subscriptions: wideSubscriptionLimits,
}
