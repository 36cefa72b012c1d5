/** A value that may be known at once; where it is, nothing waits. */
export type Awaitable<T> = T | Promise<T>

/** What `use` makes of a value, at once where it is known. */
export function whenKnown<T, U>(value: Awaitable<T>, use: (value: T) => Awaitable<U>): Awaitable<U> {
  return value instanceof Promise ? value.then(use) : use(value)
}
