/** Rollup networks: the table of their methods, under each prefix and beside the methods of another network. */
import { FaultError } from '../../../primitives/faults.js'
import { type Method, nameMethods } from '../method.js'
import { type RollupNetwork, rollupMethodFamily } from '../methods/rollup.js'

export type RollupMethodName = keyof typeof rollupMethodFamily

/** Every method of a rollup network, by its name on the wire under the neutral prefix `rollupx`. */
export const rollupMethods = nameMethods<RollupNetwork, RollupMethodName>(rollupMethodFamily)

/** The methods for addresses of another network. Keys that may not use the rollup get NetworkNotAllowed. */
export function boundRollupMethods(network: RollupNetwork, prefixes: readonly string[]): Method[] {
  return prefixRollupMethods(prefixes).map((method) => ({
    ...method,
    run(_other, args, context, ...more) {
      if (context.identity.scope?.allowsNetwork(network.name) === false) {
        throw new FaultError({ kind: 'NetworkNotAllowed', network: network.name })
      }
      return method.run(network, args, context, ...more)
    },
  }))
}

/** The methods under each of `prefixes`; each method gets the prefix that the caller used. */
export function prefixRollupMethods(prefixes: readonly string[]): Method<RollupNetwork>[] {
  return [...new Set(prefixes)].flatMap((prefix) =>
    Object.values<Method<RollupNetwork>>(rollupMethods).map((method) => ({
      ...method,
      name: method.name.replace(/^rollupx_/, `${prefix}_`),
      run: (network, args, context, ...more) => method.run({ ...network, prefix }, args, context, ...more),
    })),
  )
}
