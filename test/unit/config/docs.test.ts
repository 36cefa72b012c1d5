/** What docs/configuration.md says of the configuration is what the program does. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { defaultConfigFile } from '../../../src/config/file.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'

const units: Readonly<Record<string, number>> = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 }

/** A default as the table writes it: a number, or one of a larger unit; undefined for words. */
function readDefault(text: string): number | undefined {
  const [, digits, unit] = /^`?(\d+)(?: ([KMGT]iB))?`?$/.exec(text) ?? []
  return digits === undefined
    ? undefined
    : Number(digits) * (unit === undefined ? 1 : (units[unit] as number))
}

/** Keys of the table of settings, each with what its row says of its default. */
function readTable(): Map<string, string> {
  const page = readFileSync(join(packageRoot(), 'docs/configuration.md'), 'utf8')
  const table = page.slice(page.indexOf('| key | default | what it is |')).split('\n\n')[0] as string
  const found = new Map<string, string>()
  for (const row of table.split('\n').slice(2)) {
    const [, keys = '', defaults = ''] = row.split('|').map((cell) => cell.trim())
    const names = [...keys.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
    const group = names[0]?.replace(/[^.]+$/, '') ?? ''
    const values = defaults.split(', ')
    for (const [index, name] of names.entries()) {
      const value = values.length === names.length ? (values[index] as string) : defaults
      found.set(name.startsWith(group) ? name : group + name, value)
    }
  }
  return found
}

t.test('every limit stands in the documentation, with its default', async (t) => {
  const table = readTable()
  const { limits, store } = defaultConfigFile()
  const settings: [string, unknown][] = [
    ...Object.entries(limits).map(([name, value]): [string, unknown] => [`limits.${name}`, value]),
    ['store.mapBytes', store.mapBytes],
  ]
  t.ok(settings.length > 15)
  for (const [name, value] of settings) t.equal(readDefault(table.get(name) ?? 'no such row'), value, name)
  const absent = ['poolThreads', 'socketMessageBytesMax', 'keyUnitsPerSecond', 'keyUnitsBurst'].map(
    (name) => `limits.${name}`,
  )
  for (const name of absent) t.ok(table.has(name), name)
  const known = new Set([...settings.map(([name]) => name), ...absent])
  const gone = [...table.keys()].filter((name) => name.startsWith('limits.') && !known.has(name))
  t.strictSame(gone, [], 'and no limit that is none')
})
