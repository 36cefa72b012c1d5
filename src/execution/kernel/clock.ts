/**
 * Decides when a run asks the host whether it may continue: at intervals, and before work on many bytes. The clock is
 * gas: cheap instructions take a nanosecond per unit; slower instructions count more.
 */
import { mayGoOn, StopReason, stop } from './host'

/** Gas between two calls of the host. */
export let lookEvery: i64 = 200_000
export function setLookEvery(gas: i64): void {
  lookEvery = gas
}
/** Gas of cheap instructions in a step of 0.1 µs. */
const stepGas: i64 = 100
/*
 * Gas that slow instructions count on this clock in addition to their own: DIV and its relatives, ADDMOD and MULMOD,
 * EXP and KECCAK256. EXP counts it for each unit of its gas, KECCAK256 once and for each unit of gas of its length.
 */
export const divisionGas: i64 = 60
export const moduloGas: i64 = 120
export const powerGas: i64 = 4
export const hashGas: i64 = 300
export const hashLengthGas: i64 = 8
/** Gas counted towards that for beginning or ending a frame. */
export const frameLookGas: i64 = 100

/** Least gas at which instructions run without asking, if the host is asked at `lookAt`, which may be negative. */
@inline
export function floorFor(lookAt: i64): i64 {
  return lookAt > 0 ? lookAt : 0
}

/** Asks the host; stops the run if it may not continue. */
export function askHost(): void {
  if (!mayGoOn((lookEvery / stepGas) as u32)) stop(StopReason.Host)
}

/** Bytes of an instruction's work above which the host is asked first. */
const muchBytes: u64 = 4096

/** Asks the host before work on `bytes`, at `bytesPerStep` per step; stops the run if it may not continue. */
@inline
export function lookBefore(bytes: u64, bytesPerStep: u64): void {
  if (bytes > muchBytes && !mayGoOn((bytes / bytesPerStep) as u32)) stop(StopReason.Host)
}
