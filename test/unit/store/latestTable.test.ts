import { join } from 'node:path'
import t from 'tap'
import { closeEnvironment, openEnvironment, openTable, type Table } from '../../../src/store/environment.js'
import { LatestTable } from '../../../src/store/latestTable.js'
import { numberKey } from '../../../src/store/tables.js'

const rowOf = (number: number) => Uint8Array.of(1, number >> 16, (number >> 8) & 255, number & 255)

t.test('more rows than it keeps change, vanish and are read as in a table of their own', async (t) => {
  const environment = openEnvironment({
    path: join(t.testdir(), 'rows.mdb'),
    readOnly: false,
    mapBytes: 2 ** 28,
  })
  const table = openTable(environment, 'rows') as Table
  const latest = new LatestTable(table)
  const count = 120_000
  environment.transactionSync(() => {
    for (let number = 0; number < count; number++) latest.putSync(numberKey(number), rowOf(number))
    for (let number = 0; number < count; number += 2) latest.putSync(numberKey(number), rowOf(number + 1))
    for (let number = 0; number < count; number += 3) latest.removeSync(numberKey(number))
    latest.flush()
  })
  const expected = (number: number) =>
    number % 3 === 0 ? undefined : rowOf(number % 2 === 0 ? number + 1 : number)
  let wrong = 0
  for (let number = 0; number < count; number++) {
    const key = numberKey(number)
    const value = expected(number)
    for (const one of [latest, table]) {
      if (Buffer.compare(one.getBinary(key) ?? new Uint8Array(0), value ?? new Uint8Array(0)) !== 0) wrong++
    }
    if (latest.doesExist(key) !== (value !== undefined)) wrong++
  }
  t.equal(wrong, 0)
  t.equal(table.getCount(), (count / 3) * 2)
  await closeEnvironment(environment)
})

t.test('a range is of the rows as they are, and what failed is forgotten', async (t) => {
  const environment = openEnvironment({
    path: join(t.testdir(), 'rows.mdb'),
    readOnly: false,
    mapBytes: 2 ** 26,
  })
  const table = openTable(environment, 'rows') as Table
  const latest = new LatestTable(table)
  environment.transactionSync(() => {
    latest.putSync(numberKey(1), rowOf(1))
    t.equal(table.getBinary(numberKey(1)), undefined, 'it waits')
    t.equal(latest.getCount(), 1)
    t.strictSame(
      [...latest.getRange()].map(({ value }) => value[3]),
      [1],
    )
    t.strictSame(latest.getBrief(numberKey(1), 2), rowOf(1).subarray(0, 2))
  })
  latest.putSync(numberKey(1), rowOf(2))
  latest.forget()
  t.strictSame(latest.getBinary(numberKey(1))?.[3], 1)
  await closeEnvironment(environment)
})
