import t from 'tap'
import { JsonLimitError, parseBoundedJson } from '../../../src/primitives/boundedJson.js'

const limits = { charactersMax: 100, depthMax: 3, valuesMax: 10 }

t.test('JSON within the limits is parsed as JSON.parse does', (t) => {
  const texts = [
    '1',
    '""',
    'null',
    '[]',
    '{}',
    '[[[1]]]',
    '{"a":[{"b":"]}[{,\\"\\\\"}]}',
    '[1,2,3,4,5,6,7,8]',
  ]
  for (const text of texts) t.strictSame(parseBoundedJson(text, limits), JSON.parse(text), text)
  const name = '__proto__'
  t.ok(Object.hasOwn(parseBoundedJson(`{"${name}":1}`, limits) as object, name))
  t.end()
})

t.test('a text above a limit is refused by the limit, before it is parsed', (t) => {
  const refused: readonly [text: string, limit: string][] = [
    [' '.repeat(101), 'charactersMax'],
    ['[[[[', 'depthMax'],
    ['{"a":{"a":{"a":{', 'depthMax'],
    ['['.repeat(100), 'depthMax'],
    ['[1,2,3,4,5,6,7,8,9,10,11]', 'valuesMax'],
    [`[${'[],'.repeat(6)}`, 'valuesMax'],
    [','.repeat(50), 'valuesMax'],
  ]
  for (const [text, limit] of refused) {
    try {
      parseBoundedJson(text, limits)
      t.fail(`${text} was parsed`)
    } catch (error) {
      t.ok(error instanceof JsonLimitError && error.limit === limit, text)
    }
  }
  t.end()
})

t.test('what is no JSON is a SyntaxError', (t) => {
  for (const text of ['', '1,2', '1},{"id":2', '"open', '"open\\', 'NaN', 'undefined', '[1]]', "{'a':1}"]) {
    t.throws(() => parseBoundedJson(text, limits), SyntaxError, text)
  }
  t.end()
})
