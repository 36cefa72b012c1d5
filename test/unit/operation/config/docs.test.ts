/** docs/configuration.md describes the configuration as the program reads it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { z } from 'zod'
import { fileSchema } from '../../../../src/operation/config/file.js'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'

/** The part of JSON Schema that the configuration's schema uses. */
interface Schema {
  readonly type?: string
  readonly default?: unknown
  readonly const?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: Schema
  readonly oneOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

/** `kind` of the network that it belongs to, or '', and the key; then its default and its values as the page has them. */
type Row = readonly [key: string, defaultText: string, values: string]

const bytes = ['TiB', 'GiB', 'MiB', 'KiB'].map((unit, index) => [unit, 2 ** (10 * (4 - index))] as const)
const times = [['h', 3_600_000] as const, ['min', 60_000] as const, ['s', 1_000] as const]

/** A number as an operator types it into the file, and in the largest unit that divides it. */
function numberText(key: string, value: number): string {
  const units = /bytes/i.test(key) ? bytes : /ms(max)?$/i.test(key) ? times : []
  const [unit, size] = units.find(([, size]) => value > 0 && value % size === 0) ?? []
  return unit === undefined || size === undefined ? `${value}` : `${value} (${value / size} ${unit})`
}

function code(value: unknown): string {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
}

/** The default as the page must show it; '' if the schema has none, because it follows from another value. */
function defaultText(key: string, { default: value }: Schema, isRequired: boolean): string {
  if (isRequired) return 'required'
  return typeof value === 'number' ? numberText(key, value) : value === undefined ? '' : code(value)
}

function valuesText(
  key: string,
  { type, const: only, enum: choices, minimum = 0, maximum, anyOf }: Schema,
): string {
  if (anyOf) return anyOf.map((each) => valuesText(key, each)).join(', ')
  if (only !== undefined) return code(only)
  if (choices) return choices.map(code).join(', ')
  if (type === 'boolean') return '`true`, `false`'
  if (type === 'array') return 'list'
  if (type !== 'integer') return type === 'string' ? 'text' : 'object'
  const most = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? 'or more' : 'to'
  const last = most === 'to' ? ` ${numberText(key, maximum as number)}` : ''
  return `${numberText(key, minimum)} ${most}${last}`
}

/** Rows of every key below an object; a choice of objects has the keys of all, and their kinds as values. */
function rowsOf(schema: Schema, prefix = ''): Row[] {
  if (schema.oneOf) {
    const rows = schema.oneOf.flatMap((each) => rowsOf(each, prefix))
    const kinds = rows.filter(([key]) => key === `${prefix}type`)
    const values = kinds.map(([, , only]) => only).join(', ')
    return [
      ...kinds.slice(0, 1).map(([key, text]): Row => [key, text, values]),
      ...rows.filter((row) => !kinds.includes(row)),
    ]
  }
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const key = `${prefix}${name}`
    const row: Row = [
      key,
      defaultText(key, member, schema.required?.includes(name) ?? false),
      valuesText(key, member),
    ]
    if (member.items?.properties) return [row, ...rowsOf(member.items, `${key}[].`)]
    if (member.oneOf) return [row, ...rowsOf(member, `${key}.`)]
    return member.properties ? rowsOf(member, `${key}.`) : [row]
  })
}

/** Beacon nodes have a table of their own; in other tables one row refers to it. */
function withBeaconOnce(rows: readonly Row[]): Row[] {
  const parted = rows.flatMap(([key, ...rest]): Row[] => {
    const [, owner, member] = /^(.*\.beacon)\.(.*)$/.exec(key) ?? []
    if (owner === undefined) return [[key, ...rest]]
    return [
      [owner, '', 'object'],
      [`beacon.${member}`, ...rest],
    ]
  })
  return [...new Map(parted.map((row) => [JSON.stringify(row), row])).values()]
}

/** Every key as the page must have it; those of networks begin with their kind. */
function schemaRows(): Row[] {
  const schema = z.toJSONSchema(fileSchema, { io: 'input', unrepresentable: 'any' }) as Schema
  const { networks, ...others } = schema.properties as Readonly<Record<string, Schema>>
  const kinds = (networks?.items?.oneOf ?? []).flatMap((kind) => {
    const name = kind.properties?.kind?.const
    return rowsOf(kind, 'networks[].').map(([key, ...rest]): Row => [`${name} ${key}`, ...rest])
  })
  return [...rowsOf({ properties: others }), ['networks', '', 'list'], ...withBeaconOnce(kinds)].map(
    ([key, text, values]) => [
      key,
      // The kind of a network that names none.
      key === 'archive networks[].kind' ? '`archive`' : text,
      values,
    ],
  )
}

/** Rows of the page's tables; those of networks begin with the kind that the heading above names. */
function pageRows(): Row[] {
  const page = readFileSync(join(packageRoot(), 'docs/configuration.md'), 'utf8')
  let kind = ''
  const rows: Row[] = []
  for (const line of page.split('\n')) {
    if (line.startsWith('## ')) kind = /kind `(\w+)`/.exec(line)?.[1] ?? ''
    const [, key, text, values] = /^\| `([^`]+)` \| ?(.*?) \| (.*?) \| .+ \|$/.exec(line) ?? []
    if (key === undefined || text === undefined || values === undefined) continue
    rows.push([kind === '' ? key : `${kind} ${key}`, text, values])
  }
  return rows
}

t.test('every key stands in the documentation, with its default and its values', async (t) => {
  const expected = schemaRows()
  t.ok(expected.length > 80)
  const found = pageRows()
  t.strictSame(found.map(([key]) => key).sort(), expected.map(([key]) => key).sort())
  for (const [key, text, values] of expected) {
    // Sources of two types may have members of one name.
    const rows = found.filter((row) => row[0] === key)
    const [, foundText = '', foundValues] = rows.find((row) => row[2] === values) ?? rows[0] ?? []
    t.equal(foundValues, values, `${key}: values`)
    // A default that follows from another value is described in words.
    if (text === '') t.notMatch(foundText, /^(?:required|\d+|`[^`]*`)$/, key)
    else t.equal(foundText, text, `${key}: default`)
  }
})
