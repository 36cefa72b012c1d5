import t from 'tap'
import { isNamedIn } from '../../../../src/serving/transport/resourceExchange.js'

t.test('If-None-Match compares weakly, reads lists, and knows the star', async (t) => {
  const cases: readonly (readonly [header: string, isNamed: boolean])[] = [
    ['', false],
    ['"a"', true],
    ['W/"a"', true],
    ['"b"', false],
    ['"b", W/"a" ,"c"', true],
    ['"b","c"', false],
    ['"x,a"', false],
    ['"b", "x, \\"', false],
    ['*', true],
    [' * ', true],
    ['"*"', false],
    ['a', false],
    ['"A"', false],
  ]
  for (const [header, isNamed] of cases) t.equal(isNamedIn(header, '"a"'), isNamed, header)
})
