import type { RequestContext } from '../contexts/requestContext.js'
import type { Json } from '../method.js'
import type { LogQuery } from './logQuery.js'

/** Bytes counted for a polled filter, besides {@link polledFilterKeyBytes} for each address and topic. */
export const polledFilterBytes = 2_000
export const polledFilterKeyBytes = 200

/** The changes that a filter reports: logs, hashes of new blocks, or pending transactions (hashes or whole ones). */
export type FilterRequest =
  | { readonly kind: 'logs'; readonly query: LogQuery }
  | { readonly kind: 'blocks' }
  | { readonly kind: 'transactions'; readonly isWhole: boolean }

/** Polled filters of one network, on any thread. All methods throw, or reject with, FaultError. */
export interface FilterService {
  create(request: FilterRequest, context: RequestContext): string | Promise<string>
  /** Changes since the last call, as JSON. */
  changes(id: string, context: RequestContext, turnMsMax: number): Json | Promise<Json>
  /** All logs that a log filter matches, as JSON. */
  logs(id: string, context: RequestContext, turnMsMax: number): Json | Promise<Json>
  /** Removes a filter; false if no filter has this id. */
  uninstall(id: string, context: RequestContext): boolean | Promise<boolean>
}
