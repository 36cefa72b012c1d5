import fc from 'fast-check'
import t from 'tap'
import { nearest } from '../../../src/primitives/nearest.js'
import { propertyRuns } from '../../library/property.js'

t.test('one slip in a word leads back to it', async (t) => {
  const words = ['serve', 'import', 'verify', 'keys']
  for (const slip of ['serv', 'sevre', 'servee', 'sxrve', 'SERVE'])
    t.equal(nearest(slip, words), 'serve', slip)
  t.equal(nearest('kyes', words), 'keys')
})

t.test('the nearest of several near words is chosen', async (t) => {
  t.equal(nearest('blocks', ['block', 'blocks', 'clocks']), 'blocks')
})

t.test('a word unlike all others suggests nothing', async (t) => {
  t.equal(nearest('frobnicate', ['serve', 'import']), undefined)
  t.equal(nearest('', ['serve']), undefined)
  t.equal(nearest('x', []), undefined)
})

/** Optimal string alignment distance, every cell of it. */
function distance(a: string, b: string): number {
  const cells = Array.from({ length: a.length + 1 }, (_, row) => [row])
  const cell = (row: number, column: number) => cells[row]?.[column] ?? 0
  for (let column = 0; column <= b.length; column++) (cells[0] as number[])[column] = column
  for (let row = 1; row <= a.length; row++) {
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1]
      const ways = [
        cell(row - 1, column) + 1,
        cell(row, column - 1) + 1,
        cell(row - 1, column - 1) + (isSame ? 0 : 1),
      ]
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        ways.push(cell(row - 2, column - 2) + 1)
      }
      ;(cells[row] as number[])[column] = Math.min(...ways)
    }
  }
  return cell(a.length, b.length)
}

t.test('a word is near exactly where it is within the edits allowed', async (t) => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 9 })
  fc.assert(
    fc.property(word, fc.array(word), fc.nat(4), (typed, candidates, editsMax) => {
      const least = Math.min(editsMax + 1, ...candidates.map((candidate) => distance(typed, candidate)))
      const expected = candidates.find((candidate) => distance(typed, candidate) === least)
      return nearest(typed, candidates, editsMax) === (least > editsMax ? undefined : expected)
    }),
    propertyRuns(300),
  )
  t.pass('of random words')
})
