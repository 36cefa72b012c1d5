/**
 * Prices of calls in compute units. Owns the unit and the limits of a price; prices are in the method files, and
 * `access/meter.ts` decides whether a caller can pay.
 *
 * One unit is the work for a read that is answered from memory, all threads together (scenario `prices`). Other prices
 * are proportional to the CPU time of uncached calls on the demo chain, rounded to a few numbers. They do not depend on
 * caches, so a call always costs the same.
 */

/** Units that a millisecond of CPU costs. */
export const unitsPerMs = 100

/** Bytes of an answer per unit: reading and rendering them takes about one unit of CPU time. */
export const bytesPerUnit = 4_096

/** Bytes of a request per unit, charged before reading: the slowest call takes 27 ms for 5 MiB. */
export const bodyBytesPerUnit = 2_048

/** Units of a call: a constant, or computed from its arguments. */
export type Price<Args> = number | ((args: Args) => number)

/** Price of the cheapest call, and of an invalid one, which is also read and answered. */
export const unitsMin = 1

/** Maximum price of a call: a key with this burst can make every call. The most expensive one costs 20,002. */
export const unitsMax = 25_000

export function priceOf<Args>(price: Price<Args>, args: Args): number {
  return typeof price === 'number' ? price : Math.min(price(args), unitsMax)
}

export function bodyUnits(bytes: number): number {
  return Math.min(Math.floor(bytes / bodyBytesPerUnit), unitsMax)
}
