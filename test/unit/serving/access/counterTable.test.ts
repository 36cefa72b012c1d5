import t from 'tap'
import {
  CounterTable,
  idNumber,
  keyIdOf,
  type TableShape,
} from '../../../../src/serving/access/counterTable.js'

const shape: TableShape = { rows: 32, rowsPerGroup: 16, numbers: 2 }

/** Ids that all belong to one group. */
const idOf = (index: number) => 2 ** 33 + index

/** A table whose rows are kept for the time in their first number, and a function that counts in it. */
function openTable(memory?: SharedArrayBuffer) {
  const table: CounterTable = new CounterTable(shape, (at) => table.numbers[at] as number, memory)
  const add = (id: number, change: number, kind = 0): number | undefined => {
    const at = table.take(id, kind)
    if (at === undefined) return undefined
    const sum = (table.numbers[at] as number) + change
    table.numbers[at] = sum
    table.giveBack()
    return sum
  }
  return { table, add }
}

t.test('ids are read and written as they are', async (t) => {
  for (const id of ['000000000000', '0123456789ab', 'ffffffffffff']) t.equal(keyIdOf(idNumber(id)), id)
})

t.test('each key and kind has numbers of its own, which tables over the same memory share', async (t) => {
  const memory = new SharedArrayBuffer(CounterTable.bytesFor(shape))
  const one = openTable(memory)
  const other = openTable(memory)
  t.equal(one.add(0, 5), 5)
  t.equal(one.add(0, 1, 1), 1)
  t.equal(one.add(idOf(1), 7), 7)
  t.equal(other.add(0, 1), 6)
  t.equal(other.add(2 ** 48 - 1, 1), 1)
  const rows: [id: number, value: number][] = []
  other.table.visit((id, at) => rows.push([id, other.table.numbers[at] as number]))
  t.same(rows, [
    [0, 6],
    [0, 1],
    [idOf(1), 7],
    [2 ** 48 - 1, 1],
  ])
})

t.test('a key without a row is given none where it is only looked for', async (t) => {
  const { table, add } = openTable()
  t.equal(table.take(idOf(0), 0, false), undefined)
  add(idOf(0), 3)
  const at = table.take(idOf(0), 0, false)
  t.equal(table.numbers[at ?? Number.NaN], 3)
  table.giveBack()
})

t.test(
  'in a full group the row that is kept for the least time is given away, and begins with zeros',
  async (t) => {
    const { table, add } = openTable()
    for (let index = 0; index < 16; index++) add(idOf(index), index === 9 ? 1 : 5)
    t.equal(add(idOf(16), 4), 4)
    t.equal(table.take(idOf(9), 0, false), undefined)
    t.equal(add(idOf(3), 0), 5)
  },
)

t.test('a row that is kept for ever is given to nobody', async (t) => {
  const { table, add } = openTable()
  for (let index = 0; index < 16; index++) add(idOf(index), Number.POSITIVE_INFINITY)
  t.equal(add(idOf(16), 1), undefined)
  t.equal(table.take(idOf(16)), undefined, 'and the group is given back')
  t.equal(add(2 ** 32, 1), 1, 'another group has room')
})

t.test(
  'a group that was never given back is taken over after a while, and stays with who has it',
  async (t) => {
    const memory = new SharedArrayBuffer(CounterTable.bytesFor(shape))
    const gone = openTable(memory)
    const other = openTable(memory)
    const third = openTable(memory)
    gone.table.take(idOf(0))
    const at = other.table.take(idOf(1)) as number
    gone.table.giveBack()
    const startedAtMs = performance.now()
    t.ok(third.table.take(idOf(2)), 'as long as the second does not give it back')
    t.ok(performance.now() - startedAtMs > 100)
    third.table.giveBack()
    t.equal(other.table.numbers[at], 0)
  },
)
