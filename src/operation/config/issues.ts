import * as z from 'zod'
import { excerpt } from '../../primitives/jsonType.js'
import { nearest } from '../../primitives/nearest.js'
import { redactUrl } from '../../primitives/urls.js'

/** Longest part of a value that an error message repeats: enough to recognise it. */
const quotedMax = 60

type Path = readonly PropertyKey[]

/** An issue of zod as lines that begin with a path: one line per unknown key, or one for the whole issue. */
export function issueToLines(issue: z.core.$ZodIssue, raw: unknown, schema: z.ZodType): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const near = nearest(key, knownKeys(schema, issue.path, raw))
      const hint = near === undefined ? 'remove it' : `did you mean ${near}?`
      return `${formatPath([...issue.path, key])}: unknown key; ${hint}`
    })
  }
  const value = issue.path.reduce<unknown>(
    (inner, step) => (inner as Record<PropertyKey, unknown>)?.[step],
    raw,
  )
  return [`${formatPath(issue.path)}: ${issue.message}, got ${formatValue(redactSecrets(value, issue.path))}`]
}

/** Keys that the schema of the whole file allows in the object at `path` of `raw`. */
function knownKeys(fileSchema: z.ZodType, path: Path, raw: unknown): string[] {
  let schema: unknown = fileSchema
  let value = raw
  for (const step of [...path, undefined]) {
    while (
      schema instanceof z.ZodDefault ||
      schema instanceof z.ZodPrefault ||
      schema instanceof z.ZodOptional ||
      schema instanceof z.ZodPipe
    ) {
      schema = schema instanceof z.ZodPipe ? schema.out : schema.unwrap()
    }
    if (schema instanceof z.ZodDiscriminatedUnion) {
      const { discriminator } = schema.def
      const named = (value as Record<string, unknown> | undefined)?.[discriminator]
      const options = schema.options as z.ZodObject<Record<string, z.ZodType>>[]
      schema = options.find(({ shape }) => shape[discriminator]?.safeParse(named).success) ?? options[0]
    }
    if (step === undefined) break
    value = (value as Record<PropertyKey, unknown> | undefined)?.[step]
    if (schema instanceof z.ZodArray) schema = schema.element
    else if (schema instanceof z.ZodObject) schema = schema.shape[String(step)]
  }
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
}

function formatPath(path: Path): string {
  const text = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`)).join('')
  return text === '' ? 'the whole file' : text.replace(/^\./, '')
}

function formatValue(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value)
  return excerpt(text, quotedMax)
}

/** Keys whose values are URLs of nodes, also if an object was expected. */
const urlKey = /url$|^upstreams?$/i

/**
 * A copy of a value of the configuration file, or of an invalid one, without secrets: URLs keep scheme and host,
 * headers their names. `path` leads to the value; its last key gives the kind of the value.
 */
export function redactSecrets(value: unknown, path: readonly PropertyKey[] = []): unknown {
  const key = String(path.findLast((step) => typeof step !== 'number') ?? '')
  if (Array.isArray(value)) return value.map((item, index) => redactSecrets(item, [...path, index]))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, redactSecrets(inner, [...path, name])]),
    )
  }
  if (path.includes('headers')) return value === '' ? value : '…'
  if (typeof value !== 'string') return value
  return urlKey.test(key) || value.includes('://') ? redactUrl(value) : value
}
