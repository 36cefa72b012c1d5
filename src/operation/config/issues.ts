import * as z from 'zod'
import { excerpt } from '../../primitives/excerpt.js'
import { nearest } from '../../primitives/nearest.js'
import { redactSecrets } from './redactSecrets.js'

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
