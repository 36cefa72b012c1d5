import fc from 'fast-check'
import t from 'tap'
import { Fifo } from '../../../src/primitives/fifo.js'
import { propertyRuns } from '../../library/property.js'

t.test('items leave in their order, or from the end', async (t) => {
  const steps = fc.array(fc.constantFrom('push', 'push', 'shift', 'pop'), { maxLength: 300 })
  const holds = fc.property(steps, (names) => {
    const fifo = new Fifo<number>()
    const expected: number[] = []
    for (const [at, name] of names.entries()) {
      if (name === 'push') {
        fifo.push(at)
        expected.push(at)
      } else if (expected.length > 0) {
        if (fifo.oldest !== expected[0]) return false
        const [found, due] =
          name === 'shift' ? [fifo.shift(), expected.shift()] : [fifo.pop(), expected.pop()]
        if (found !== due) return false
      }
      if (fifo.length !== expected.length) return false
    }
    fifo.clear()
    return fifo.length === 0
  })
  fc.assert(holds, propertyRuns(200))
  t.pass('they do')
})
