/**
 * State gas (EIP-8037): costs of new accounts, slots and code besides the work of writing them. It is paid from the
 * transaction's reservoir first, then from the frame's gas. Gas of undone changes is given back in the opposite order.
 */
import { Failure, Frame } from './frame'
import { fail } from './frames'
import { noteSpent } from './needs'
import { traceStateGas } from './trace'

/** Gas that may pay only for state: the part above the limit of a transaction's other gas (EIP-7825). */
export let reservoir: i64 = 0
/** State gas of the transaction so far. */
export let stateGas: i64 = 0

/** Begins a message with this reservoir. */
export function startStateGas(gas: i64): void {
  reservoir = gas
  stateGas = 0
}

/** Remembers the state before a frame. */
@inline
export function enterStateGas(frame: Frame): void {
  frame.spilled = 0
  frame.reservoirBefore = reservoir
  frame.stateGasBefore = stateGas
}

/** Pays state gas in a frame that has `gas`. Returns the remaining gas, negative for a failure. */
export function payStateGas(frame: Frame, amount: i64, gas: i64): i64 {
  const spilled = max<i64>(0, amount - reservoir)
  if (spilled > gas) return fail(Failure.OutOfGas)
  reservoir -= amount - spilled
  frame.spilled += spilled
  traceStateGas(spilled)
  stateGas += amount
  noteSpent(frame, gas - spilled)
  return gas - spilled
}

/** Gives state gas back: to the frame's gas up to its own payments, then to the reservoir. Returns the frame's part. */
export function refillStateGas(frame: Frame, amount: i64): i64 {
  const returned = min<i64>(amount, frame.spilled)
  frame.spilled -= returned
  traceStateGas(-returned)
  reservoir += amount - returned
  stateGas -= amount
  return returned
}

/** After a frame that succeeded, whose gas goes to `caller`; null for the outermost. */
@inline
export function keepStateGas(frame: Frame, caller: Frame | null): void {
  if (caller !== null) caller.spilled += frame.spilled
}

/** After a frame that failed: all is undone. Returns the additional gas that a revert leaves. */
@inline
export function undoStateGas(frame: Frame): i64 {
  reservoir = frame.reservoirBefore
  stateGas = frame.stateGasBefore
  return frame.spilled
}

/** After a call or creation that ended, with or without a frame. Returns the gas for its caller. */
@inline
export function settleStateGas(caller: Frame, isSuccess: bool): i64 {
  if (isSuccess) return repayStateGas(caller)
  return caller.callStateGas == 0 ? 0 : refillStateGas(caller, caller.callStateGas as i64)
}

/**
 * A frame can return state gas that its caller paid only into the reservoir. The caller takes it from there, so that no
 * frame has both a reservoir and state gas paid from its own.
 */
function repayStateGas(caller: Frame): i64 {
  const repaid = min<i64>(reservoir, caller.spilled)
  caller.spilled -= repaid
  reservoir -= repaid
  return repaid
}
