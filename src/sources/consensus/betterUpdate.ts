import type { LightClientUpdate } from './gloasForm.js'
import { committeeSize, periodAt } from './network.js'
import { participantsOf } from './syncCommittee.js'

/** What updates are ranked by, the weightiest first; the higher the better. */
function ranksOf({
  attestedHeader,
  syncAggregate,
  signatureSlot,
  next,
  finality,
}: LightClientUpdate): number[] {
  const participants = participantsOf(syncAggregate.syncCommitteeBits).length
  const isMajority = participants * 3 >= committeeSize * 2
  const { slot } = attestedHeader.beacon
  const isRelevant = next !== undefined && periodAt(slot) === periodAt(signatureSlot)
  const isFinalInPeriod = finality !== undefined && periodAt(finality.header.beacon.slot) === periodAt(slot)
  return [
    Number(isMajority),
    isMajority ? 0 : participants,
    Number(isRelevant),
    Number(finality !== undefined),
    Number(isFinalInPeriod),
    participants,
    // Older data are preferred, so that the best one seldom changes.
    -slot,
    -signatureSlot,
  ]
}

/** `is_better_update`: whether an update is rather kept than one before. */
export function isBetterUpdate(update: LightClientUpdate, before: LightClientUpdate): boolean {
  const mine = ranksOf(update)
  const others = ranksOf(before)
  const differing = mine.findIndex((rank, at) => rank !== others[at])
  return differing >= 0 && (mine[differing] as number) > (others[differing] as number)
}
