import type { Caller } from './caller.js'
import type { LogQuery } from './logQuery.js'
import type { Json } from './method.js'

/** What a filter tells: logs, hashes of new blocks, or those of pending transactions, of which there are none. */
export type FilterRequest =
  | { readonly kind: 'logs'; readonly query: LogQuery }
  | { readonly kind: 'blocks' }
  | { readonly kind: 'transactions' }

/** Filters of one network, wherever they are kept. Each throws, or rejects with, FaultError. */
export interface FilterService {
  /** Its id. */
  create(request: FilterRequest, caller: Caller): string | Promise<string>
  /** What changed since it was asked last, as JSON. */
  changes(id: string, caller: Caller, turnMsMax: number): Json | Promise<Json>
  /** All logs that a filter of logs matches, as JSON. */
  logs(id: string, caller: Caller, turnMsMax: number): Json | Promise<Json>
  /** Forgets it; false where there is none of that id. */
  uninstall(id: string, caller: Caller): boolean | Promise<boolean>
}
