import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { SortedRuns } from '../../../../src/data/store/sortedRuns.js'
import { makeFolder } from '../../../library/folder.js'
import { propertyRuns } from '../../../library/property.js'

const folder = makeFolder(t)
const records = fc.array(
  fc.tuple(fc.uint8Array({ minLength: 0, maxLength: 40 }), fc.uint8Array({ maxLength: 300 })),
  { maxLength: 200 },
)

function sorted(list: readonly (readonly [Uint8Array, Uint8Array])[]): string[] {
  return list.map(([key, value]) => `${Buffer.from(key).toString('hex')} ${value}`).sort()
}

t.test('records come back in the order of their keys, whether they fit in memory or not', (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(records, records, fc.constantFrom(64, 500, 4_000, 2 ** 20), (first, second, bytes) => {
        const runs = new SortedRuns(join(folder, 'runs'), bytes)
        for (const added of [first, second]) {
          for (const [key, value] of added) runs.add(key, value)
          const got: (readonly [Uint8Array, Uint8Array])[] = []
          let last: Buffer | undefined
          for (const { key, value } of runs.inOrder()) {
            const own = Buffer.from(key)
            if (last !== undefined && last.compare(own) > 0) return false
            last = own
            got.push([own, Uint8Array.from(value)])
          }
          if (sorted(got).join() !== sorted(added).join()) return false
        }
        return readdirSync(folder).length === 0
      }),
      propertyRuns(200),
    ),
  )
  t.end()
})

t.test('what is not read to its end leaves no file', (t) => {
  const runs = new SortedRuns(join(folder, 'runs'), 100)
  for (let at = 0; at < 100; at++) runs.add(Uint8Array.of(at), new Uint8Array(20))
  t.equal(readdirSync(folder).length, 1)
  for (const { key } of runs.inOrder()) if (key[0] === 7) break
  t.equal(readdirSync(folder).length, 0)
  t.end()
})
