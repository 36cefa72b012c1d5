/**
 * What calls cost, in compute units. Owns what a unit is and the bounds of a price; the prices themselves stand in the
 * method files, and whether a caller can pay is decided in `access/meter.ts`.
 *
 * One unit is the server's work for a read that is answered from memory: about 10 µs of CPU, all threads together.
 * The other prices are what calls took in relation that nobody had asked before, on the demo chain, rounded to few
 * numbers that a user can remember. They do not depend on what happens to be cached, so that a call costs the same at
 * any time.
 */

/** Units that a millisecond of CPU costs. */
export const unitsPerMs = 100

/**
 * Bytes of an answer that a unit pays for: to read and render so many takes about 10 µs. Prices are meant for answers
 * of a usual length: 200 receipts have 400 KB and cost 100 units.
 */
export const bytesPerUnit = 4_096

/**
 * Bytes of a request for which a unit is charged before it is read. What is hardest to read took 26 ms for 5 MiB, on
 * cores that were shared (scenario `prices` of bench).
 */
export const bodyBytesPerUnit = 2_048

/** Units of a call: as many for each, or as many as follow from its arguments. */
export type Price<Args> = number | ((args: Args) => number)

/** What the cheapest call costs, and what is charged for one that is no call: it was read and is answered. */
export const unitsMin = 1

/**
 * The most that one call is charged, so that whoever may spend this much at once can make every call. The dearest
 * one, 10,000 keys of a mapping with their values, costs 20,002.
 */
export const unitsMax = 25_000

/** Units of a call with these arguments. */
export function priceOf<Args>(price: Price<Args>, args: Args): number {
  return typeof price === 'number' ? price : Math.min(price(args), unitsMax)
}

/** Units for reading a request, whatever it says. */
export function bodyUnits(bytes: number): number {
  return Math.min(Math.floor(bytes / bodyBytesPerUnit), unitsMax)
}
