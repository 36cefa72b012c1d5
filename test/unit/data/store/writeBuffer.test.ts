import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { commitRows, commitRowsSync } from '../../../../src/data/store/lmdb/commitRows.js'
import {
  closeEnvironment,
  commitSync,
  openEnvironment,
  openTable,
  type Table,
} from '../../../../src/data/store/lmdb/environment.js'
import { WriteBuffer } from '../../../../src/data/store/lmdb/writeBuffer.js'
import type { Range, WriteTable } from '../../../../src/data/store/readTable.js'
import { numberKey } from '../../../../src/data/store/tables.js'
import { Dice, propertyRuns } from '../../../library/property.js'

const keys = Array.from({ length: 12 }, (_, number) => numberKey(number))
const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString('hex')

type Model = Map<number, Uint8Array>

/** A range of the model's rows, as LMDB orders and bounds them. */
function rangeOf(
  model: Model,
  start: number | undefined,
  end: number | undefined,
  reverse: boolean,
  limit: number,
) {
  const order = reverse ? -1 : 1
  return [...model]
    .filter(([number]) => start === undefined || order * (number - start) >= 0)
    .filter(([number]) => end === undefined || order * (number - end) < 0)
    .sort(([a], [b]) => order * (a - b))
    .slice(0, limit)
    .map(([number, value]) => [text(keys[number]), text(value)])
}

interface Kind {
  readonly name: string
  readonly make: (table: Table) => WriteBuffer
  /** Whether each key has only one value, ever. */
  readonly isConstant?: boolean
}

const kinds: readonly Kind[] = [
  { name: 'rows of which none stay in memory', make: (table) => new WriteBuffer(table) },
  { name: 'rows of which five stay in memory', make: (table) => new WriteBuffer(table, { keptMax: 5 }) },
  { name: 'rows in a list', make: (table) => new WriteBuffer(table, { isList: true }) },
  {
    name: 'rows in a list that never change',
    make: (table) => new WriteBuffer(table, { isList: true, isConstant: true }),
    isConstant: true,
  },
]

function openRows(t: Test) {
  const path = join(t.testdir(), 'rows.mdb')
  const environment = openEnvironment({ path, readOnly: false, mapBytes: 2 ** 28 })
  return { path, environment, table: openTable(environment, 'rows') as Table }
}

/** Changes, writes, commits, fails and drops rows at random. Returns the first answer that differs from the model's. */
async function findDifference(
  { path, environment, table }: ReturnType<typeof openRows>,
  { make, isConstant = false }: Kind,
  dice: Dice,
): Promise<string | undefined> {
  commitSync(environment, path, () => table.clearSync())
  const pending = make(table)
  let now: Model = new Map()
  let stored: Model = new Map()
  let flight: { readonly model: Model; readonly written: Promise<void> } | undefined
  const land = async () => {
    if (flight === undefined) return
    await flight.written
    pending.flushed()
    stored = flight.model
    flight = undefined
  }
  const change = () => {
    const number = dice.throw(keys.length)
    // A separate copy of the key, as callers make them.
    const key = numberKey(number)
    if (!isConstant && dice.throw(3) === 0) {
      now.delete(number)
      return pending.removeSync(key)
    }
    const value = isConstant
      ? Uint8Array.of(number)
      : Uint8Array.from(dice.times(dice.throw(4), () => dice.throw(256)))
    now.set(number, value)
    return pending.putSync(key, value)
  }
  // Few rows wait here, so that they are written in parts about as often as not.
  const sizes = { rowsAtOnce: 3, rowsPerPart: 2 }
  for (let step = 0; step < 40; step++) {
    const kind = dice.throw(15)
    if (kind < 9) change()
    else if (kind < 11) {
      await land()
      flight = { model: new Map(now), written: commitRows(environment, path, [pending], 1, sizes) }
    } else if (kind === 11) await land()
    else if (kind === 12) {
      await land()
      commitRowsSync(environment, path, [pending], sizes)
      pending.flushed()
      stored = new Map(now)
    } else if (kind === 13) {
      await land()
      pending.forget()
      now = new Map(stored)
    }
    const difference = compare(pending, now, dice)
    if (difference !== undefined) return `step ${step}: ${difference}`
  }
  await land()
  return undefined
}

function compare(pending: WriteTable, model: Model, dice: Dice): string | undefined {
  for (const [number, key] of keys.entries()) {
    const expected = text(model.get(number))
    if (text(pending.getBinary(key)) !== expected) return `row ${number}`
    if (text(pending.viewUntilNextRead(key)) !== expected) return `row ${number}, lent`
    if (text(pending.getBrief(key, 2)) !== expected?.slice(0, 4)) return `row ${number}, its beginning`
    if (pending.doesExist(key) !== (expected !== undefined)) return `whether row ${number} exists`
  }
  if (pending.getCount() !== model.size) return 'the number of rows'
  const bound = () => (dice.throw(3) === 0 ? undefined : dice.throw(keys.length))
  const start = bound()
  const end = bound()
  const reverse = dice.throw(2) === 0
  const limit = dice.throw(5) + 1
  const range: Range = {
    ...(start !== undefined && { start: keys[start] as Uint8Array }),
    ...(end !== undefined && { end: keys[end] as Uint8Array }),
    reverse,
    limit,
  }
  const got = [...pending.getRange(range)].map(({ key, value }) => [text(key), text(value)])
  const expected = rangeOf(model, start, end, reverse, limit)
  return JSON.stringify(got) === JSON.stringify(expected)
    ? undefined
    : `range ${JSON.stringify({ start, end, reverse, limit })}: ${JSON.stringify(got)}, not ${JSON.stringify(expected)}`
}

for (const kind of kinds) {
  t.test(`${kind.name}: read as they are, whether waiting, under way or stored`, async (t) => {
    const rows = openRows(t)
    const property = fc.asyncProperty(fc.nat(), async (state) => {
      const difference = await findDifference(rows, kind, new Dice(state))
      if (difference !== undefined) throw new Error(difference)
    })
    await t.resolves(fc.assert(property, propertyRuns(100)))
    await closeEnvironment(rows.environment)
  })
}

t.test('more rows than are kept change and vanish', async (t) => {
  const { path, environment, table } = openRows(t)
  const pending = new WriteBuffer(table, { keptMax: 1_000 })
  const count = 20_000
  const rowOf = (number: number) => Uint8Array.of(1, number >> 16, (number >> 8) & 255, number & 255)
  const changes: readonly ((number: number) => void)[] = [
    (number) => pending.putSync(numberKey(number), rowOf(number)),
    (number) => number % 2 === 0 && pending.putSync(numberKey(number), rowOf(number + 1)),
    (number) => number % 3 === 0 && pending.removeSync(numberKey(number)),
  ]
  for (const change of changes) {
    for (let number = 0; number < count; number++) change(number)
    await commitRows(environment, path, [pending], 1)
    pending.flushed()
  }
  const expected = (number: number) =>
    number % 3 === 0 ? undefined : rowOf(number % 2 === 0 ? number + 1 : number)
  let wrong = 0
  for (let number = 0; number < count; number++) {
    const key = numberKey(number)
    for (const one of [pending, table]) if (text(one.getBinary(key)) !== text(expected(number))) wrong++
  }
  t.equal(wrong, 0)
  t.equal(table.getCount(), count - Math.ceil(count / 3))
  await closeEnvironment(environment)
})

t.test('nothing is stored of rows of which the last part cannot be written', async (t) => {
  const { path, environment, table } = openRows(t)
  const sizes = { rowsAtOnce: 3, rowsPerPart: 2 }
  const commits = [
    (pending: WriteBuffer) => commitRows(environment, path, [pending], 1, sizes),
    async (pending: WriteBuffer) => commitRowsSync(environment, path, [pending], sizes),
  ]
  for (const commit of commits) {
    const pending = new WriteBuffer(table)
    for (const key of keys) pending.putSync(key, Uint8Array.of(1))
    // A value that is longer than LMDB takes.
    pending.putSync(new Uint8Array(3_000), Uint8Array.of(1))
    await t.rejects(commit(pending))
    pending.forget()
    environment.resetReadTxn()
    t.equal(table.getCount(), 0)
    pending.putSync(numberKey(1), Uint8Array.of(2))
    for (const key of keys.slice(2)) pending.putSync(key, Uint8Array.of(3))
    await commit(pending)
    pending.flushed()
    t.equal(text(table.getBinary(numberKey(1))), '02')
    t.equal(table.getCount(), keys.length - 1)
    commitSync(environment, path, () => table.clearSync())
  }
  await closeEnvironment(environment)
})
