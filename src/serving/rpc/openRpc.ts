/** The OpenRPC document of the service (https://spec.open-rpc.org), made from the declarations of the methods. */
import type { Method } from './method.js'
import { methods } from './registry.js'
import { rollupMethods } from './rollup/rollupRegistry.js'

/** The document as JSON; `version` is the service's. Throws RangeError for an incomplete declaration. */
export function renderOpenRpc(version: string): string {
  const tagged = (tag: string, listed: Readonly<Record<string, Method<never>>>) =>
    Object.values(listed).map((method) => ({ ...describe(method), tags: [{ name: tag }] }))
  return JSON.stringify({
    openrpc: '1.3.2',
    info: {
      title: 'Tidegate',
      description:
        'Methods tagged `chain` are offered by networks of blocks, those tagged `rollup` by networks that take transactions, under their own prefix.',
      version,
    },
    methods: [...tagged('chain', methods), ...tagged('rollup', rollupMethods)],
  })
}

function describe(method: Method<never>): object {
  const { name, summary, params, byName, result } = method
  if (summary === undefined || result === undefined || params.some((param) => param.name === '')) {
    throw new RangeError(`${name} lacks its result, or the name of a parameter`)
  }
  return {
    name,
    summary,
    paramStructure: byName ? 'either' : 'by-position',
    params: params.map(({ name, required, schema }) => ({ name, required, schema })),
    result: { name: 'result', schema: result },
  }
}
