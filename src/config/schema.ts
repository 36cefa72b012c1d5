/** The kinds of values in a configuration file, each with its error message. */
import { z } from 'zod'

export function text(expected = 'a non-empty string') {
  return z.string({ error: `expected ${expected}` }).min(1, { error: `expected ${expected}` })
}

export function flag() {
  return z.boolean({ error: 'expected true or false' })
}

export function integer(min: number, max = Number.MAX_SAFE_INTEGER) {
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`
  const error = `expected ${min === 0 && max === Number.MAX_SAFE_INTEGER ? 'a non-negative integer' : `an integer ${range}`}`
  return z.number({ error }).int({ error }).min(min, { error }).max(max, { error })
}

export function list<T extends z.ZodType>(item: T) {
  return z.array(item, { error: 'expected an array' })
}

export function object<T extends z.ZodRawShape>(shape: T) {
  return z.strictObject(shape, { error: 'expected an object' })
}
