/**
 * Records, during a run with more gas, how much gas would have sufficed for the same path. Gas estimates start from it.
 *
 * A frame that gets `need` gas behaves as in the run, where
 *
 *   need = max( highest gas consumed, before refunds,
 *               before each SSTORE: consumed + 2,301                              (EIP-2200)
 *               for each inner frame: consumed before it + cost of the instruction
 *                 + the least g with g − ⌊g/64⌋ ≥ need(inner) − stipend )         (EIP-150)
 *
 * An inner frame that fails exceptionally uses all of its gas. So the rest depends on the caller's gas g at the call:
 * ⌊g/64⌋, or the excess over a fixed requested amount. From there on the caller's consumption is counted from zero, and
 * the parts are joined at the end.
 */
import { Frame, Part } from './frame'
import { transactionArena } from './journal'
import { Fork, has, sstoreSentryGas } from './rules'

/** End of an inner frame: a revert gives remaining gas back, an exceptional failure (burnt) nothing. */
export enum End {
  Succeeded,
  Reverted,
  Burnt,
}

export const askAll: i64 = -1

/** Free list of parts. */
let freeParts: Part | null = null

/** Gas that the outermost frame needed. */
export let neededGas: i64 = 0
/**
 * Whether the run did not depend on the amount of gas. No inner frame failed, and GAS was only read to be passed on to
 * a call. Then every gas limit from {@link neededGas} on repeats the run exactly.
 */
export let isLinear: bool = true
/**
 * Whether the outermost frame itself would run out of gas with one unit less, and no inner one before it, which its
 * caller might survive.
 */
export let bindsOutermost: bool = true

export function startNeeds(): void {
  neededGas = 0
  isLinear = true
  bindsOutermost = true
  freeParts = null
}

function takePart(): Part {
  const part = freeParts
  if (part === null) return changetype<Part>(transactionArena.take(offsetof<Part>()))
  freeParts = part.before
  return part
}

/** Sets the need of a message to a precompiled contract. */
export function setOutermostNeed(gas: i64): void {
  neededGas = gas
}

export function enterNeeds(frame: Frame, gas: i64): void {
  frame.partGas = gas
  frame.ownNeed = 0
  frame.innerNeed = 0
  frame.parts = null
}

@inline
function needOwn(frame: Frame, need: i64): void {
  if (need > frame.ownNeed) frame.ownNeed = need
}

/** The need of the part that began last. */
@inline
function partNeed(frame: Frame): i64 {
  return max(frame.ownNeed, frame.innerNeed)
}

/** Records that a frame has only `gas` left, though some of the rest may be given back. */
@inline
export function noteSpent(frame: Frame, gas: i64): void {
  needOwn(frame, frame.partGas - gas)
}

/** Records a GAS instruction. `isPassedOn`: the next instruction passes its value to an inner frame. */
export function noteGasRead(isPassedOn: bool): void {
  if (!isPassedOn || !has(Fork.TangerineWhistle)) isLinear = false
}

@inline
export function noteSstore(frame: Frame, gas: i64): void {
  if (has(Fork.Istanbul)) needOwn(frame, frame.partGas - gas + sstoreSentryGas + 1)
}

/** Records a call or creation after its own cost was paid: `gas` remains; the call requests `asked` of it. */
export function noteCall(frame: Frame, gas: i64, asked: i64, stipend: i64): void {
  frame.callConsumed = frame.partGas - gas
  frame.callAsked = asked
  frame.callStipend = stipend
  // Before EIP-150 a call that requests more than the remaining gas fails.
  needOwn(frame, frame.callConsumed + (has(Fork.TangerineWhistle) ? 0 : asked))
}

/** Records the end of a frame that used `gasUsed`. `caller` is null for the outermost. */
export function leaveNeeds(frame: Frame, caller: Frame | null, gasUsed: i64, end: End): void {
  if (end != End.Burnt) needOwn(frame, frame.partGas - (frame.gasLimit - gasUsed))
  const hasParts = frame.parts !== null
  const need = joinParts(frame)
  if (caller !== null) return returnNeed(caller, need, hasParts, gasUsed, end)
  neededGas = need
  bindsOutermost = !hasParts && frame.ownNeed > frame.innerNeed
}

/** Adds the need of an inner frame, or of a call without a frame, to its caller's. */
export function returnNeed(caller: Frame, need: i64, hasParts: bool, gasUsed: i64, end: End): void {
  if (end != End.Succeeded) isLinear = false
  const stipend = caller.callStipend
  const given = end == End.Burnt || need <= stipend ? 0 : need - stipend
  const atCall = leastToGive(given)
  if (end != End.Burnt && !hasParts) {
    // A frame that needs no more than the stipend takes nothing from its caller.
    if (given > 0) caller.innerNeed = max(caller.innerNeed, caller.callConsumed + atCall)
    return
  }
  const part = takePart()
  part.before = caller.parts
  part.need = partNeed(caller)
  part.consumed = caller.callConsumed
  // A frame with burnt frames inside counts as having used all its gas.
  part.asked = end == End.Burnt ? caller.callAsked : askAll
  part.atCall = atCall
  caller.parts = part
  caller.partGas = caller.partGas - caller.callConsumed + stipend - gasUsed
  caller.ownNeed = 0
  caller.innerNeed = 0
}

/** Joins and frees the parts of an ended frame; returns its need. */
function joinParts(frame: Frame): i64 {
  let rest = partNeed(frame)
  let part = frame.parts
  while (part !== null) {
    const atCall = max(part.atCall, leastToKeep(rest, part.asked))
    rest = max(part.need, part.consumed + atCall)
    const before = part.before
    part.before = freeParts
    freeParts = part
    part = before
  }
  return rest
}

/** Least gas at a call for its inner frame to get `given`. */
function leastToGive(given: i64): i64 {
  return has(Fork.TangerineWhistle) && given > 0 ? given + (given - 1) / 63 : given
}

/** Least gas at a call, whose inner frame burns all its gas, for the caller to keep `rest`. */
function leastToKeep(rest: i64, asked: i64): i64 {
  if (!has(Fork.TangerineWhistle)) return rest + max<i64>(asked, 0)
  const from64th = rest * 64
  return asked >= 0 && rest + asked < from64th ? rest + asked : from64th
}
