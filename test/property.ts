import type { Parameters } from 'fast-check'

/**
 * Settings of a property test: how often it runs, and its seed, which is printed so that a failure can be
 * repeated with `SEED=<n>`.
 */
export function propertyRuns(numRuns: number): Parameters<unknown> {
  const seed = process.env.SEED === undefined ? Date.now() & 0x7fffffff : Number(process.env.SEED)
  console.log(`# seed ${seed} (repeat with SEED=${seed})`)
  return { numRuns, seed }
}
