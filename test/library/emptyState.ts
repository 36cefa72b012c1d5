import type { StateView } from '../../src/data/state/stateView.js'
import { hashedTries } from '../../src/data/state/tries.js'
import { emptyTrieRoot } from '../../src/primitives/keccak.js'

/** The state before genesis. */
export const emptyState: StateView = {
  stateRoot: emptyTrieRoot,
  account: () => undefined,
  slot: () => undefined,
  slotsOf: () => [],
  code: () => undefined,
  tries: hashedTries(() => undefined),
  hasRows: true,
}
