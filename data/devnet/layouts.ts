/** `layouts.json`: the places of the variables of the demo network's contracts, from the compiler. */
import type { Hex } from '../../src/primitives/bytes.js'
import type { Artifact } from './contracts.js'
import type { ContractExample } from './examples.js'

/** Contracts of the story whose name is not that of their source, and the one whose layout they have. */
const artifactOf: Readonly<Record<string, string>> = {
  Tide: 'TideToken',
  Foam: 'TideToken',
  'Second shelf': 'Shelf',
  OldCounter: 'CounterV1',
  // The contract behind the proxy keeps its variables in the proxy; the second one begins with the variables of the
  // first.
  Proxy: 'CounterV2',
  Deposits: 'Depositor',
}

interface Layout {
  readonly storage: readonly unknown[]
}

/** Layouts by address, of contracts that have variables. */
export function collectLayouts(
  contracts: readonly ContractExample[],
  artifacts: ReadonlyMap<string, Artifact>,
): Record<Hex, unknown> {
  const layouts: Record<Hex, unknown> = {}
  for (const { name, address } of contracts) {
    const layout = artifacts.get(artifactOf[name] ?? name)?.storageLayout as Layout | undefined
    if (layout !== undefined && layout.storage.length > 0) layouts[address] = layout
  }
  return layouts
}
