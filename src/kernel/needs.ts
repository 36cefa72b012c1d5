/**
 * What gas a run would have needed to take the same path, recorded while it runs with more. An estimate of gas begins
 * with it.
 *
 * A frame that gets `need` gas behaves as it did in the run, where
 *
 *   need = max( what was consumed, at its highest and before refunds,
 *               before each SSTORE: consumed + 2,301                              (EIP-2200)
 *               for each inner frame: consumed before it + cost of the instruction
 *                 + the least g with g − ⌊g/64⌋ ≥ need(inner) − stipend )         (EIP-150)
 *
 * An inner frame that fails exceptionally burns all it was given, so what its caller keeps depends on what there
 * was: ⌊g/64⌋, or what exceeds a fixed amount that the call asked for. From there on the caller's consumption is
 * counted anew, and the parts are joined at the end.
 */
import { Frame } from './frames'
import { transactionArena } from './journal'
import { Fork, has, sstoreSentryGas } from './rules'

/** How an inner frame ended: a revert gives back what is left, a burnt one nothing. */
export enum End {
  Succeeded,
  Reverted,
  Burnt,
}

/** Asks for all that it can get. */
export const askAll: i64 = -1

/** A part of a frame up to an inner frame that left its caller an amount which depends on what there was. */
@unmanaged
export class Part {
  before: Part | null
  pad: u32
  /** Greatest need of this part, counted from its beginning. */
  need: i64
  /** Consumed in this part once the call had paid its own cost. */
  consumed: i64
  /** Gas that the call asked for. */
  asked: i64
  /** Least gas at the call for the inner frame to take its path. */
  atCall: i64
}

/** Parts of frames that have ended. */
let freeParts: Part | null = null

/** Gas for the outermost frame. */
export let neededGas: i64 = 0
/**
 * Nothing in the run depended on how much gas there was: no inner frame failed, and GAS was read for nothing but to be
 * passed on whole. Then every limit from {@link neededGas} on repeats the run exactly.
 */
export let isLinear: bool = true
/** With one unit less the outermost frame itself runs out; else an inner one does, which its caller may survive. */
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

/** The need of a message that is one call of a precompiled contract. */
export function setOutermostNeed(gas: i64): void {
  neededGas = gas
}

export function enterNeeds(frame: Frame, gas: i64): void {
  frame.partGas = gas
  frame.need = 0
  frame.ownNeed = 0
  frame.parts = null
}

// @ts-ignore: decorator
@inline
function needOwn(frame: Frame, need: i64): void {
  if (need > frame.ownNeed) frame.ownNeed = need
  if (need > frame.need) frame.need = need
}

/** GAS was executed; `isPassedOn`: the next instruction gives its value to an inner frame. */
export function noteGasRead(isPassedOn: bool): void {
  if (!isPassedOn || !has(Fork.TangerineWhistle)) isLinear = false
}

// @ts-ignore: decorator
@inline
export function noteSstore(frame: Frame, gas: i64): void {
  if (has(Fork.Istanbul)) needOwn(frame, frame.partGas - gas + sstoreSentryGas + 1)
}

/** A call or creation has paid its own cost and has `gas` left, of which it asks for some. */
export function noteCall(frame: Frame, gas: i64, asked: i64, stipend: i64): void {
  frame.callConsumed = frame.partGas - gas
  frame.callAsked = asked
  frame.callStipend = stipend
  // Before EIP-150 a call for more than there is fails.
  needOwn(frame, frame.callConsumed + (has(Fork.TangerineWhistle) ? 0 : asked))
}

/** A frame has ended, with so much of its gas used. `caller` is null for the outermost. */
export function leaveNeeds(frame: Frame, caller: Frame | null, gasUsed: i64, end: End): void {
  if (end != End.Burnt) needOwn(frame, frame.partGas - (frame.gasLimit - gasUsed))
  const hasParts = frame.parts !== null
  const need = joinParts(frame)
  if (caller !== null) return returnNeed(caller, need, hasParts, gasUsed, end)
  neededGas = need
  bindsOutermost = !hasParts && need == frame.ownNeed
}

/** What an inner frame, or a call that needed none, means for its caller. */
export function returnNeed(caller: Frame, need: i64, hasParts: bool, gasUsed: i64, end: End): void {
  if (end != End.Succeeded) isLinear = false
  const stipend = caller.callStipend
  const given = end == End.Burnt || need <= stipend ? 0 : need - stipend
  const atCall = leastToGive(given)
  if (end != End.Burnt && !hasParts) {
    caller.need = max(caller.need, caller.callConsumed + atCall)
    return
  }
  const part = takePart()
  part.before = caller.parts
  part.need = caller.need
  part.consumed = caller.callConsumed
  // A frame that burnt inside is taken to have used up all it got.
  part.asked = end == End.Burnt ? caller.callAsked : askAll
  part.atCall = atCall
  caller.parts = part
  caller.partGas = caller.partGas - caller.callConsumed + stipend - gasUsed
  caller.need = 0
  caller.ownNeed = 0
}

/** Joins the parts of a frame that has ended, which are given back. */
function joinParts(frame: Frame): i64 {
  let rest = frame.need
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

/** Least gas at a call whose inner frame burns all it gets for the caller to keep `rest`. */
function leastToKeep(rest: i64, asked: i64): i64 {
  if (!has(Fork.TangerineWhistle)) return rest + max<i64>(asked, 0)
  const from64th = rest * 64
  return asked >= 0 && rest + asked < from64th ? rest + asked : from64th
}
