import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { text } from '../params.js'
import { booleanSchema } from '../schema.js'

/** Removes a filter; false where the caller's key has none with this id. */
export const eth_uninstallFilter = defineMethod({
  name: 'eth_uninstallFilter',
  summary: 'Removes a filter, and whether there was one',
  params: [text('a filter id')],
  paramNames: ['filterId'],
  cost: 'job',
  price: 1,
  memo: 'never',
  result: booleanSchema,
  run({ filters }: Network, [id], caller) {
    const wasThere = filters.uninstall(id, caller)
    return wasThere instanceof Promise ? wasThere.then(String) : String(wasThere)
  },
})
