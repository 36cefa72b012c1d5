/**
 * Estimated run times of precompiled contracts whose gas says little about their time, so that one that cannot end in
 * time is not begun. The figures, with their sizes, were measured on one core and rounded up. BLAKE2F needs none: it
 * is fast for its gas, and checks the time between rounds.
 */
/** Time of one call by its data, in milliseconds; `gasMin`: with less gas the contract fails at once. */
interface Estimate {
  readonly ms: number
  readonly gasMin: number
}

const estimates: ReadonlyMap<number, (data: Uint8Array) => Estimate> = new Map([
  // Pairing of bn254: 200 ms for 16 pairs.
  [0x08, (data) => perItem(data, 192, 13, 34_000)],
  // BLS12-381, sums of products: 234 ms for 64 points of the first group, 633 ms for 64 of the second.
  [0x0c, (data) => perItem(data, 160, 5, 6_228)],
  [0x0e, (data) => perItem(data, 288, 11, 11_790)],
  // Pairing of BLS12-381: 390 ms for 32 pairs.
  [0x0f, (data) => perItem(data, 384, 13, 32_600)],
])

/** Expected time of a call; zero where it lacks gas, or is short. */
export function expectedPrecompileMs(address: number, data: Uint8Array, gas: bigint): number {
  const estimate = estimates.get(address)?.(data)
  return estimate === undefined || gas < BigInt(Math.floor(estimate.gasMin)) ? 0 : estimate.ms
}

function perItem(data: Uint8Array, itemBytes: number, ms: number, gas: number): Estimate {
  const items = Math.floor(data.length / itemBytes)
  return { ms: items * ms, gasMin: items * gas }
}
