import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { text } from '../params.js'

/** Ends a filter; false where the caller has none of that id. */
export const eth_uninstallFilter = defineMethod({
  name: 'eth_uninstallFilter',
  params: [text('a filter id')],
  cost: 'job',
  price: 1,
  memo: 'never',
  run({ filters }: Network, [id], caller) {
    const wasThere = filters.uninstall(id, caller)
    return wasThere instanceof Promise ? wasThere.then(String) : String(wasThere)
  },
})
