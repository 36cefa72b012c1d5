/** The kinds of values in a configuration file, each with its error message. */
import * as z from 'zod'
import { timerMsMax } from '../../primitives/timers.js'

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

/** A delay that a timer can have. */
export function milliseconds(min: number) {
  return integer(min, timerMsMax)
}

export function list<T extends z.ZodType>(item: T) {
  return z.array(item, { error: 'expected an array' })
}

/** Short forms of values, by the schemas of {@link withShortForm}. */
const shortForms = new WeakMap<z.core.$ZodType, z.ZodType>()

/** A value that may also be written as `short`; `expand` converts it to the long form. */
export function withShortForm<T extends z.ZodType>(
  short: z.ZodType,
  expand: (value: unknown) => unknown,
  schema: T,
) {
  const both = z.preprocess((value) => (short.safeParse(value).success ? expand(value) : value), schema)
  shortForms.set(both, short)
  return both
}

/** For `z.toJSONSchema`, which shows only the long form of such a value. */
export function addShortForm({
  zodSchema,
  jsonSchema,
}: {
  readonly zodSchema: z.core.$ZodType
  readonly jsonSchema: z.core.JSONSchema.BaseSchema
}): void {
  const short = shortForms.get(zodSchema)
  if (short === undefined) return
  const { $schema, ...form } = z.toJSONSchema(short, { io: 'input' })
  const long = { ...jsonSchema }
  for (const key of Object.keys(jsonSchema)) delete jsonSchema[key]
  jsonSchema.anyOf = [form, long]
}

export function object<T extends z.ZodRawShape>(shape: T, expected = 'an object') {
  return z.strictObject(shape, { error: `expected ${expected}` })
}
