/** A value that may be known at once; then no caller waits. */
export type Awaitable<T> = T | Promise<T>

/** The result of `use` for a value; computed at once if the value is known. */
export function whenKnown<T, U>(value: Awaitable<T>, use: (value: T) => Awaitable<U>): Awaitable<U> {
  return value instanceof Promise ? value.then(use) : use(value)
}
