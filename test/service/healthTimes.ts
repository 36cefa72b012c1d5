/** Times of `/health`, which differ from run to run. */

/**
 * `/health`, or a part of it, without each `since`. Throws if one is no time, or lies in the future of this process.
 */
export function withoutTimes<T>(health: T): T {
  return JSON.parse(JSON.stringify(health), (name, value: unknown) => {
    if (name !== 'since') return value
    const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
    if (!(ms <= Date.now())) throw new Error(`${value} is no time since when`)
    return undefined
  })
}
