/** A fast reader reads requests of known layouts, a general one all others: both must agree. */
import fc from 'fast-check'
import t from 'tap'
import { propertyRuns } from '../../../library/property.js'
import { createTestEndpoint } from './testMethods.js'

const space = fc.constantFrom('', '', '', ' ', '\n\t', '\r\n  ')
const idText = fc.oneof(
  fc.integer().map(String),
  fc.string().map((text) => JSON.stringify(text)),
  fc.constantFrom(
    '-0',
    '1.0',
    '1e3',
    '01',
    '-',
    '"\\u0041"',
    '"\\x"',
    'null',
    'true',
    '{}',
    '[1]',
    '9'.repeat(40),
  ),
)
const methodText = fc.constantFrom(
  '"test_echo"',
  '"test_echo"',
  '"test_null"',
  '"test_fault"',
  '"test_bytes"',
  '"test\\u005fecho"',
  '"tést"',
  '"nothing"',
  '""',
  '5',
)
const paramsText = fc.oneof(
  fc.json({ maxDepth: 2 }).map((json) => `[${json}]`),
  fc.constantFrom(
    '[]',
    '["0x3"]',
    '[1,2,3]',
    '[1,}',
    '[[1}]',
    '["\\u00e9]"]',
    '["é"]',
    '["\u0001"]',
    '{}',
    'null',
    '"x"',
    '[ 1 , "]" ]',
  ),
)
const member = fc.oneof(
  { weight: 6, arbitrary: idText.map((text) => ['"id"', text]) },
  { weight: 2, arbitrary: methodText.map((text) => ['"method"', text]) },
  { weight: 2, arbitrary: paramsText.map((text) => ['"params"', text]) },
  { weight: 1, arbitrary: fc.constantFrom('"2.0"', '"1.0"', '2.0').map((text) => ['"jsonrpc"', text]) },
  { weight: 1, arbitrary: fc.json({ maxDepth: 1 }).map((text) => ['"extra"', text]) },
)
const requestText = fc
  .record({
    id: idText,
    method: methodText,
    params: paramsText,
    rest: fc.array(member, { maxLength: 1 }),
    spaces: fc.array(space, { minLength: 8, maxLength: 8 }),
    order: fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 3 }),
  })
  .map(({ id, method, params, rest, spaces, order }) => {
    const all = [['"jsonrpc"', '"2.0"'], ['"id"', id], ['"method"', method], ['"params"', params], ...rest]
    const [a = '', b = '', c = '', d = '', e = ''] = spaces
    const text = order.flatMap((i) =>
      all[i] === undefined ? [] : [`${a}${all[i]?.[0]}${b}:${c}${all[i]?.[1]}${d}`],
    )
    return `${e}{${text.join(',')}}${a}`
  })

/** The request with one more member, which only the general reader accepts. */
const forGeneralReader = (text: string) => text.replace(/^(\s*)\{(?!\s*\})/, '$1{"\\u0078":0,')

t.test('the fast reader and the general one answer alike', async (t) => {
  const fast = createTestEndpoint()
  fc.assert(
    fc.property(requestText, (text) => {
      const general = createTestEndpoint().ask(forGeneralReader(text))
      for (const attempt of [1, 2, 3]) {
        const answer = fast.ask(text)
        if (answer !== general) throw new Error(`attempt ${attempt}: ${answer} but ${general}`)
      }
      const inBatch = fast.ask(`[${text}]`)
      const single = general.includes('"code":-32700') || general === '' ? general : `[${general}]`
      if (inBatch !== single) throw new Error(`in a batch: ${inBatch} but ${single}`)
    }),
    propertyRuns(2_000),
  )
  t.ok(fast.network.runs > 100)
})

t.test('a request cut or changed anywhere is answered alike by both readers', async (t) => {
  const fast = createTestEndpoint()
  const insertion = fc.constantFrom(
    '',
    '"',
    '\\',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    ' ',
    '0',
    'e',
    '\u0000',
    'é',
    'null',
  )
  fc.assert(
    fc.property(requestText, fc.nat(), fc.nat(3), insertion, (text, at, cut, inserted) => {
      const i = at % text.length
      const changed = text.slice(0, i) + inserted + text.slice(i + cut)
      if (!/^\s*\{(?!\s*\})/.test(changed)) return
      const answer = fast.ask(changed)
      const general = createTestEndpoint().ask(forGeneralReader(changed))
      if (answer !== general) throw new Error(`${answer} but ${general}`)
    }),
    propertyRuns(2_000),
  )
  t.pass()
})
