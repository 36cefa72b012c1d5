import type { Caller } from '../callers/caller.js'
import type { Json } from '../method.js'
import type { LogQuery } from './logQuery.js'

/** Bytes counted for a polled filter, besides {@link polledFilterKeyBytes} for each address and topic. */
export const polledFilterBytes = 2_000
export const polledFilterKeyBytes = 200

/** What a filter reports: logs, hashes of new blocks, or pending transactions, of which there are none. */
export type FilterRequest =
  | { readonly kind: 'logs'; readonly query: LogQuery }
  | { readonly kind: 'blocks' }
  | { readonly kind: 'transactions' }

/** Polled filters of one network, on any thread. All methods throw, or reject with, FaultError. */
export interface FilterService {
  create(request: FilterRequest, caller: Caller): string | Promise<string>
  /** Changes since the last call, as JSON. */
  changes(id: string, caller: Caller, turnMsMax: number): Json | Promise<Json>
  /** All logs that a log filter matches, as JSON. */
  logs(id: string, caller: Caller, turnMsMax: number): Json | Promise<Json>
  /** Removes a filter; false where none has this id. */
  uninstall(id: string, caller: Caller): boolean | Promise<boolean>
}
