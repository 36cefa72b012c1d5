/** The largest of any number of values; -Infinity of none. `Math.max` fails above some 120,000. */
export function largest(values: Iterable<number>): number {
  let most = Number.NEGATIVE_INFINITY
  for (const value of values) if (value > most) most = value
  return most
}

/** The smallest of any number of values; Infinity of none. */
export function smallest(values: Iterable<number>): number {
  let least = Number.POSITIVE_INFINITY
  for (const value of values) if (value < least) least = value
  return least
}
