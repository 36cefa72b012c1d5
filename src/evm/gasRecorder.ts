/**
 * What gas a run would have needed to take the same path, recorded while it ran with more.
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

/** What {@link GasRecorder} knows after a run that succeeded. */
export interface GasNeed {
  /** Gas for the outermost frame. */
  readonly frameGas: bigint
  /**
   * Nothing in the run depended on how much gas there was: no inner frame failed, and GAS was read for nothing but
   * to be passed on whole. Then every limit from `frameGas` on repeats the run exactly.
   */
  readonly isLinear: boolean
  /**
   * With one unit less the outermost frame itself runs out. Otherwise it is an inner frame that fails, which its
   * caller may survive.
   */
  readonly bindsOutermost: boolean
}

/** How an inner frame ended: a revert gives back what is left, a burnt one nothing. */
export type FrameEnd = 'succeeded' | 'reverted' | 'burnt'

/** A part of a frame up to an inner frame that left its caller an amount which depends on what there was. */
interface Part {
  /** Greatest need of this part, counted from its beginning. */
  readonly need: bigint
  /** Consumed in this part once the call had paid its own cost. */
  readonly consumed: bigint
  /** Gas that the call asked for; undefined for all it could get. */
  readonly asked: bigint | undefined
  /** Least gas at the call for the inner frame to take its path. */
  readonly atCall: bigint
}

interface Frame {
  readonly limit: bigint
  readonly parts: Part[]
  /** Gas left at the beginning of the current part. */
  startGas: bigint
  need: bigint
  /** Of `need`, what no inner frame decides. */
  ownNeed: bigint
  /** Of the call under way. */
  callConsumed: bigint
  callAsked: bigint | undefined
}

/** EIP-2200: SSTORE fails with 2,300 gas or less left. */
const sstoreSentryGas = 2_301n

export class GasRecorder {
  private readonly frames: Frame[] = []
  private isLinear = true
  private recorded: GasNeed | undefined

  /** `keeps64th`: whether EIP-150 holds; `hasSentry`: whether EIP-2200 does. */
  constructor(
    private readonly keeps64th: boolean,
    private readonly hasSentry: boolean,
  ) {}

  /** The need of the outermost frame; undefined before it has ended. */
  get need(): GasNeed | undefined {
    return this.recorded
  }

  enterFrame(gas: bigint): void {
    this.frames.push({
      limit: gas,
      parts: [],
      startGas: gas,
      need: 0n,
      ownNeed: 0n,
      callConsumed: 0n,
      callAsked: undefined,
    })
  }

  /** GAS was executed; `isPassedOn`: the next instruction gives the value to an inner frame. */
  readGas(isPassedOn: boolean): void {
    if (!isPassedOn || !this.keeps64th) this.isLinear = false
  }

  beginSstore(gasLeft: bigint): void {
    const frame = this.top
    if (this.hasSentry) needOwn(frame, frame.startGas - gasLeft + sstoreSentryGas)
  }

  /**
   * A call or creation is about to be paid for. `cost`: of the instruction itself, without what it gives on;
   * `asked`: the gas it asks for, undefined where it asks for all.
   */
  beginCall(gasLeft: bigint, cost: bigint, asked: bigint | undefined): void {
    const frame = this.top
    frame.callConsumed = frame.startGas - gasLeft + cost
    frame.callAsked = asked
    // Before EIP-150 a call for more than there is fails.
    needOwn(frame, frame.callConsumed + (this.keeps64th ? 0n : (asked ?? 0n)))
  }

  /** `gasUsed`: of what the frame was given, all of it where it burnt; `stipend`: what it was given for nothing. */
  leaveFrame(gasUsed: bigint, end: FrameEnd, stipend: bigint): void {
    const frame = this.top
    if (end !== 'burnt') needOwn(frame, frame.startGas - (frame.limit - gasUsed))
    const need = this.joinParts(frame)
    this.frames.pop()
    const caller = this.frames.at(-1)
    if (caller === undefined) {
      const bindsOutermost = frame.parts.length === 0 && need === frame.ownNeed
      this.recorded = { frameGas: need, isLinear: this.isLinear, bindsOutermost }
      return
    }
    if (end !== 'succeeded') this.isLinear = false
    const given = end === 'burnt' || need <= stipend ? 0n : need - stipend
    const atCall = this.leastToGive(given)
    if (end === 'burnt' || frame.parts.length > 0) {
      caller.parts.push({
        need: caller.need,
        consumed: caller.callConsumed,
        // A frame that burnt inside is taken to have used up all it got.
        asked: end === 'burnt' ? caller.callAsked : undefined,
        atCall,
      })
      caller.startGas = caller.startGas - caller.callConsumed + stipend - gasUsed
      caller.need = 0n
      caller.ownNeed = 0n
    } else caller.need = max(caller.need, caller.callConsumed + atCall)
  }

  private joinParts({ need, parts }: Frame): bigint {
    let rest = need
    for (let index = parts.length - 1; index >= 0; index--) {
      const part = parts[index] as Part
      const atCall = max(part.atCall, this.leastToKeep(rest, part.asked))
      rest = max(part.need, part.consumed + atCall)
    }
    return rest
  }

  /** Least gas at a call for its inner frame to get `given`. */
  private leastToGive(given: bigint): bigint {
    return this.keeps64th && given > 0n ? given + (given - 1n) / 63n : given
  }

  /** Least gas at a call whose inner frame burns all it gets for the caller to keep `rest`. */
  private leastToKeep(rest: bigint, asked: bigint | undefined): bigint {
    if (!this.keeps64th) return rest + (asked ?? 0n)
    const from64th = rest * 64n
    return asked !== undefined && rest + asked < from64th ? rest + asked : from64th
  }

  private get top(): Frame {
    return this.frames.at(-1) as Frame
  }
}

function needOwn(frame: Frame, need: bigint): void {
  if (need > frame.ownNeed) frame.ownNeed = need
  if (need > frame.need) frame.need = need
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
