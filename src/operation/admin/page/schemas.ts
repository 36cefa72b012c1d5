/**
 * Parameters of methods as declared in the OpenRPC document, reduced to the members used here, and their form fields.
 */

export interface Schema {
  readonly title?: string
  readonly type?: string
  readonly enum?: readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
}

export interface Param {
  readonly name: string
  readonly required: boolean
  readonly schema: Schema
}

export interface Method {
  readonly name: string
  readonly summary: string
  readonly params: readonly Param[]
  readonly tags: readonly { readonly name: string }[]
}

function* alternatives(schema: Schema): Generator<Schema> {
  yield schema
  for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) yield* alternatives(part)
}

function typesOf(schema: Schema): Set<string> {
  const types = [...alternatives(schema)].flatMap((part) =>
    part.enum !== undefined ? 'string' : (part.type ?? []),
  )
  return new Set(types)
}

/** Suggested texts; others may be allowed, too. */
export function choicesOf(schema: Schema): readonly string[] {
  if (schema.type === 'boolean') return ['true', 'false']
  return [...alternatives(schema)].flatMap((part) => part.enum ?? [])
}

/** Whether only {@link choicesOf} are allowed. */
export function isChoice(schema: Schema): boolean {
  return schema.type === 'boolean' || (schema.enum !== undefined && schema.anyOf === undefined)
}

/** Whether a value may be an object or a list, so that it needs several lines. */
export function isLong(schema: Schema): boolean {
  const types = typesOf(schema)
  return types.has('object') || types.has('array') || types.size === 0
}

/** The expected value, in a few words. */
export function describe(schema: Schema): string {
  if (schema.type === 'boolean') return 'true or false'
  if (schema.title !== undefined) return schema.title
  return [...alternatives(schema)]
    .map(({ title, type }) => title ?? type)
    .filter((word) => word !== undefined)
    .join(', ')
}

/**
 * The value of a field's text: a string without quotes if the schema allows one, otherwise JSON. Throws SyntaxError.
 */
export function readField(schema: Schema, written: string): unknown {
  const types = typesOf(schema)
  const isNumber = types.has('integer') && /^\s*\d+\s*$/.test(written)
  const isJson = isNumber || /^\s*[[{"]/.test(written) || !types.has('string')
  if (types.size === 0 && !/^\s*[[{"\d-]|^\s*(?:true|false|null)\s*$/.test(written)) return written
  return isJson ? JSON.parse(written) : written.trim()
}

/** Reverses {@link readField}. */
export function writeField(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)
}
