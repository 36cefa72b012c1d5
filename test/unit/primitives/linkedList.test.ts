import fc from 'fast-check'
import t from 'tap'
import { type Linked, LinkedList } from '../../../src/primitives/linkedList.js'
import { propertyRuns } from '../../library/property.js'

interface Item extends Linked<Item> {
  readonly name: number
}

t.test('any changes give what an array of the same items has', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(9))), (changes) => {
      const items = Array.from(
        { length: 10 },
        (_, name): Item => ({ name, list: undefined, previous: undefined, next: undefined }),
      )
      const list = new LinkedList<Item>()
      const other = new LinkedList<Item>()
      const model: Item[] = []
      for (const [isAdded, name] of changes) {
        const item = items[name] as Item
        const at = model.indexOf(item)
        if (isAdded && at < 0) {
          list.add(item)
          model.push(item)
        } else if (!isAdded) {
          t.notOk(other.remove(item))
          t.equal(list.remove(item), at >= 0)
          if (at >= 0) model.splice(at, 1)
        }
        t.same(
          Array.from(list, ({ name }) => name),
          model.map(({ name }) => name),
        )
        t.equal(list.size, model.length)
        t.equal(list.first, model[0])
        t.equal(list.last, model.at(-1))
      }
    }),
    propertyRuns(100),
  )
})
