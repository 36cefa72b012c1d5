/** All rules of a fork, for any chain that has it. Execution and block rules need no other part of a chain's family. */
import type { ExecutionRules } from './executionRules.js'
import { familyOf } from './families/families.js'
import type { ChainFamily } from './families/family.js'
import type { ForkName } from './forkNames.js'

interface ForkRules extends Pick<ChainFamily, 'transactionTypes' | 'headers' | 'proofs'> {
  readonly execution: ExecutionRules
}

/** No two executed families share a fork. */
export function forkRules(fork: ForkName): ForkRules {
  return familyOf(fork) as ForkRules
}
