import type { Caller } from '../rpc/callers/caller.js'
import type { FilterRequest, FilterService } from '../rpc/logs/filterService.js'
import type { Json } from '../rpc/method.js'
import type { MainLink } from './mainLink.js'

/** Stands for a network's polled filters on an edge that does not hold them: passes each call to the main thread. */
export class RemoteFilters implements FilterService {
  readonly #link: MainLink
  readonly #network: string

  constructor(network: string, link: MainLink) {
    this.#network = network
    this.#link = link
  }

  create(request: FilterRequest, caller: Caller): Promise<string> {
    return this.#call('create', request, caller) as Promise<string>
  }

  changes(id: string, caller: Caller): Promise<Json> {
    return this.#call('changes', id, caller) as Promise<Json>
  }

  logs(id: string, caller: Caller): Promise<Json> {
    return this.#call('logs', id, caller) as Promise<Json>
  }

  uninstall(id: string, caller: Caller): Promise<boolean> {
    return this.#call('uninstall', id, caller) as Promise<boolean>
  }

  #call(name: keyof FilterService, argument: unknown, caller: Caller): Promise<unknown> {
    return this.#link.call('filter', [this.#network, name, argument], caller)
  }
}

/** Runs a call of {@link RemoteFilters} where the filters are held. */
export function callFilters(
  filters: FilterService,
  [name, argument]: readonly [name: keyof FilterService, argument: unknown],
  caller: Caller,
  turnMsMax: number,
): unknown {
  if (name === 'create') return filters.create(argument as FilterRequest, caller)
  if (name === 'uninstall') return filters.uninstall(argument as string, caller)
  return filters[name](argument as string, caller, turnMsMax)
}
