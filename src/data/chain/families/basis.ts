/** The verification of each part of a network, for display. */
import { type ChainIdentity, storeKindOf } from '../../store/chainRows.js'
import { familyOfIdentity } from './families.js'
import type { Basis, NetworkPart } from './family.js'

/** The displayed kind: some blocks or calls of a part may be unverified (`reported`) while others are not. */
type ShownBasis = Basis | 'proved or reported' | 'executed or reported'

/** Parts of a network for display. */
export const shownParts = ['headers', 'transactions', 'receipts', 'state', 'calls'] as const

/** Parts that a network lacks are absent. */
export type NetworkBasis = Readonly<Partial<Record<(typeof shownParts)[number], ShownBasis>>>

/** For `/health`, OpenRPC, the dashboard and docs/networks.md. */
export function basisOf(
  identity: Pick<ChainIdentity, 'config' | 'family' | 'gateway' | 'history'>,
): NetworkBasis {
  const { state, hasReceipts } = storeKindOf(identity)
  if (state === 'none')
    return { headers: 'proved', transactions: 'proved', ...(hasReceipts && { receipts: 'proved' }) }
  if (state === 'whole') return Object.fromEntries(shownParts.map((part) => [part, 'executed']))
  const { parts, reportable } = familyOfIdentity(identity)
  const shown = (part: NetworkPart): ShownBasis => {
    if (parts[part] === 'reported') return 'reported'
    return reportable.includes(part) ? 'proved or reported' : 'proved'
  }
  return {
    headers: shown('headers'),
    transactions: shown('bodies'),
    receipts: shown('receipts'),
    state: shown('state'),
    // Calls run here, on proved state; a run that ends at a differing feature is passed to an upstream.
    calls: parts.calls === 'proved' ? 'executed or reported' : parts.calls,
  }
}
