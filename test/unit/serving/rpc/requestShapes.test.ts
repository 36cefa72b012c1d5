/**
 * Requests that would block the thread: nesting, values and bytes for JSON.parse are limited, for any client. The text
 * for JSON.parse measures the work.
 */
import t from 'tap'
import { createTestEndpoint } from './testMethods.js'

const MiB = 2 ** 20
const nestingMax = 64
const valuesMax = 100_000
const namesMax = 20_100
const items = (count: number, item: string) => `[${Array(count).fill(item).join()}]`
const members = (count: number) => `{${Array.from({ length: count }, (_, i) => `"${i}":${i}`).join()}}`
const call = (params: string, id = '1', method = '"test_echo"') =>
  `{"jsonrpc":"2.0","id":${id},"method":${method},"params":${params}}`
const deep = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
const failure = (code: number, message: string) =>
  `{"jsonrpc":"2.0","id":null,"error":{"code":${code},"message":${JSON.stringify(message)}}}`
const tooDeep = failure(-32600, 'invalid request: arrays and objects nest deeper than 64')
const tooMany = failure(-32600, 'invalid request: more than 100000 values; ask in several requests')
const callTooLong = failure(-32600, `invalid request: a call of more than ${5 * MiB} bytes`)

interface Shape {
  readonly nesting: number
  readonly values: number
}

/** Nesting of a text, and the number of its values and names, by the signs outside strings. */
function shapeOf(text: string): Shape {
  let nesting = 0
  let deepest = 0
  let values = 1
  for (let i = 0; i < text.length; i++) {
    const sign = text[i] as string
    if (sign === '"') i = stringEnd(text, i)
    else if ('[{,:'.includes(sign)) values++
    if (sign === '[' || sign === '{') deepest = Math.max(deepest, ++nesting)
    else if (sign === ']' || sign === '}') nesting--
  }
  return { nesting: deepest, values }
}

/** The place of the quote that ends the string at `start`, or the end of the text. */
function stringEnd(text: string, start: number): number {
  let i = start + 1
  while (i < text.length && text[i] !== '"') i += text[i] === '\\' ? 2 : 1
  return i
}

/** Runs `work` and returns the texts that JSON.parse was given meanwhile. */
function textsParsed(work: () => void): string[] {
  const { parse } = JSON
  const texts: string[] = []
  JSON.parse = (text: string, ...rest: [never?]) => {
    texts.push(text)
    return parse(text, ...rest)
  }
  try {
    work()
  } finally {
    JSON.parse = parse
  }
  return texts
}

t.test(
  'what nests deeper than 64 is refused, alone and in a batch, and nothing of it is parsed',
  async (t) => {
    const { ask, network } = createTestEndpoint()
    const bodies = [
      call(deep(nestingMax)),
      call(`[${deep(1_000_000)}]`),
      deep(1_000_000),
      '['.repeat(1_000_000),
      '{"a":'.repeat(500_000),
      `{"a":${deep(nestingMax)},${call('[]').slice(1)}`,
      `[${call('[]')},${call(deep(nestingMax))}]`,
      `[${call('[]')},${deep(nestingMax)}]`,
    ]
    for (const body of bodies) {
      const parsed = textsParsed(() => t.equal(ask(body), tooDeep, body.slice(0, 40)))
      t.same(parsed, [])
    }
    t.equal(network.runs, 0)
  },
)

t.test('what nests as deep as may be is read, alone and in a batch, by both readers', async (t) => {
  const { ask } = createTestEndpoint()
  const params = deep(nestingMax - 1)
  const inside = params.slice(1, -1)
  for (const id of ['1', '1.5']) {
    const answer = `{"jsonrpc":"2.0","id":${id},"result":[${inside},null]}`
    t.equal(ask(call(params, id)), answer)
    const shallower = inside.slice(1, -1)
    t.equal(ask(`[${call(`[${shallower}]`, id)}]`), `[${answer.replace(inside, shallower)}]`)
  }
})

t.test('more than 100,000 values are refused, and nothing of them is parsed', async (t) => {
  const { ask, network } = createTestEndpoint()
  const bodies = [
    call(items(valuesMax, '1')),
    call(items(valuesMax, '{}')),
    call(items(valuesMax, '[]')),
    call(items(valuesMax, '""')),
    items(valuesMax, '1').replace('[', `{"id":1,"x":[`).replace(/$/, '}'),
    `[${Array(1_000)
      .fill(call(items(100, '1')))
      .join()}]`,
    `[${items(valuesMax, '{}')},${call('[]')}]`,
    ','.repeat(valuesMax * 2),
  ]
  for (const body of bodies) {
    const parsed = textsParsed(() => t.equal(ask(body), tooMany, body.slice(0, 60)))
    t.same(parsed, [])
  }
  t.equal(network.runs, 0)
})

t.test('more than 20,100 names of one call are refused, and nothing of them is parsed', async (t) => {
  const { ask, network } = createTestEndpoint()
  const tooMany = failure(-32600, 'invalid request: a call of more than 20100 names')
  const most = namesMax - 4
  for (const body of [
    call(`[${members(most + 1)}]`),
    call(items(most + 1, '{"a":1}')),
    `[${call('[]')},${call(items(most + 1, '{"a":1}'))}]`,
    `[${call(items(most + 1, '{"a":1}'))},${call('[]')}]`,
  ]) {
    const parsed = textsParsed(() => t.equal(ask(body), tooMany, body.slice(0, 60)))
    t.same(parsed, [])
  }
  t.equal(network.runs, 0)
  t.match(ask(call(`[${members(most)}]`)), '"result"')
  const each = call(items(15_000, '{"a":1}'))
  t.equal(JSON.parse(ask(`[${each},${each}]`)).length, 2)
})

t.test('an id has 64 KiB at most, whatever reads it', async (t) => {
  const { ask } = createTestEndpoint()
  const most = 64 * 1024
  for (const letter of ['a', 'é', '\\u0000']) {
    const bytes = letter === 'é' ? 2 : letter.length
    const id = letter.repeat(Math.floor((most - 2) / bytes))
    t.ok(ask(call('[]', `"${id}"`)).startsWith(`{"jsonrpc":"2.0","id":"${id}","result"`), letter)
    t.equal(
      ask(call('[]', `"${id}${letter}${letter}"`)),
      failure(-32600, 'invalid request: id has more than 65536 bytes'),
      letter,
    )
    t.equal(
      ask(`[${call('[]', `"${id}${letter}${letter}"`)}]`),
      `[${failure(-32600, 'invalid request: id has more than 65536 bytes')}]`,
    )
  }
  t.match(ask(call('[]', '9'.repeat(most))), '"result"')
  t.equal(
    ask(call('[]', '9'.repeat(most + 1))),
    failure(-32600, 'invalid request: id has more than 65536 bytes'),
  )
})

t.test('strings of any length end where they end', async (t) => {
  const { ask } = createTestEndpoint()
  const lengths = [0, 1, 4_094, 4_095, 4_096, 4_097, 8_191, 8_192, 8_193, 256 * 1024 - 60, 600_000]
  const ends = ['', '\\"', '\\\\', '\\\\\\"', 'x\\"y', '[{', '\\"'.repeat(50), `\\"${'y'.repeat(5_000)}\\"`]
  for (const length of lengths) {
    for (const end of ends) {
      for (const letter of ['x', 'é', '\\\\']) {
        const text = `"${letter.repeat(length / letter.length)}${end}"`
        const body = call(`[${text},[1]]`)
        t.equal(ask(`[${body},${body}]`).length, 2 * ask(body).length + 3)
        const general = call(`[${text},[1]]`, '1.5')
        const { id, result } = JSON.parse(ask(general))
        t.same([id, result], [1.5, [JSON.parse(text), [1]]])
      }
    }
  }
})

t.test('76,000 slots, as many as a body over HTTP can hold, are read', async (t) => {
  const { askLater } = createTestEndpoint()
  const slots = Array.from({ length: 75_900 }, (_, i) => `"0x${i.toString(16).padStart(64, '0')}"`)
  const one = call(`[[${slots.join()}]]`, '1', '"test_items"')
  t.ok(one.length > 4.9 * MiB && one.length < 5 * MiB)
  t.equal(await askLater(one), '{"jsonrpc":"2.0","id":1,"result":75900}')
  const part = 75
  const batch = Array.from({ length: 1_000 }, (_, i) =>
    call(`[[${slots.slice(i * part, (i + 1) * part).join()}]]`, String(i), '"test_items"'),
  )
  const answers: { result: unknown }[] = JSON.parse(await askLater(`[${batch.join()}]`))
  t.ok(answers.length === 1_000 && answers.every(({ result }) => result === part))
})

t.test('a call is no longer than a body over HTTP may be, however it comes', async (t) => {
  const { ask } = createTestEndpoint()
  const long = (bytes: number) => `["${'a'.repeat(bytes)}"]`
  const parsed = textsParsed(() => {
    t.equal(ask(call(long(5 * MiB))), callTooLong)
    t.equal(ask(`[${call('[]')},${call(long(5 * MiB))}]`), callTooLong)
    t.equal(ask(`[${call('[]')},${call(long(31 * MiB)).slice(0, -4)}`), callTooLong)
  })
  t.same(parsed, [])
  const text = long(5 * MiB - 100)
  t.ok(ask(call(text)) === `{"jsonrpc":"2.0","id":1,"result":${text.slice(0, -1)},null]}`)
})

t.test('whatever is sent, JSON.parse gets no text that takes long', async (t) => {
  const fill = (unit: string, bytes = 2 * MiB) => unit.repeat(bytes / Buffer.byteLength(unit))
  const numbered = (bytes: number, item: (i: number) => string) =>
    Array.from({ length: bytes / item(0).length }, (_, i) => item(i)).join()
  const params: Readonly<Record<string, string>> = {
    'a long string': `["${fill('a')}"]`,
    'a string of escapes': `["${fill('\\n')}"]`,
    'a string of escaped quotes': `["${fill('\\"')}"]`,
    'a string of escaped letters': `["${fill('\\u00e9')}"]`,
    'a string of letters of two bytes': `["${fill('é')}"]`,
    'a string of letters of four bytes': `["${fill('😀')}"]`,
    'a number of many digits': `[${fill('7')}]`,
    'numbers beyond all bounds': `[${fill('1e400,')}1]`,
    spaces: `[${fill(' ')}1]`,
    'short strings': `[${numbered(2 * MiB, (i) => `"${i.toString(36).padStart(5)}"`)}]`,
    'an object of many members': `[{${numbered(2 * MiB, (i) => `"${i.toString(36).padStart(5)}":1`)}}]`,
    'an object of many indices': `[{${numbered(2 * MiB, (i) => `"${i * 4001}":1`)}}]`,
    'a member many times': `[{${fill('"a":1,')}"a":1}]`,
    'objects of all shapes': `[${numbered(2 * MiB, (i) => `{"${i.toString(36).padStart(5)}":1}`)}]`,
    'empty objects': `[${fill('{},')}{}]`,
    'empty arrays': `[${fill('[],')}[]]`,
    'arrays in arrays': `[${deep(MiB)}]`,
    'objects in objects': `[${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}]`,
    'arrays as deep as may be': `[${`${deep(60)},`.repeat((2 * MiB) / 121)}1]`,
  }
  const requests = Object.entries(params).flatMap(([title, text]): [string, string][] => [
    [title, call(text)],
    [`${title}, read by the general reader`, call(text, '1.5')],
    [`${title}, in a batch`, `[${call(text)},${call(text, '2')}]`],
    [`${title} in place of a call`, text],
    [`${title} in a further member`, `{"x":${text},${call('[]').slice(1)}`],
    [`${title} that breaks off`, call(text).slice(0, -8)],
  ])
  const long = fill('a')
  requests.push(
    ['a long id', call('[]', `"${long}"`)],
    ['a long id of digits', call('[]', fill('7'))],
    ['a long method', call('[]', '1', `"${long}"`)],
    ['a long version', call('[]').replace('2.0', long)],
    ['a long name', `{"${long}":1,${call('[]').slice(1)}`],
    [
      'a batch of large calls',
      `[${Array(1_000)
        .fill(call(`["${fill('a', 4096)}"]`))
        .join()}]`,
    ],
    ['spaces before a call', fill(' ') + call('[]')],
    ['spaces after a batch', `[${call('[]')}]${fill('\n')}`],
  )
  for (const [title, body] of requests) {
    const { ask, defects } = createTestEndpoint()
    const parsed = textsParsed(() => t.match(ask(body), /^.?\{"jsonrpc":"2.0",/s, title))
    t.same(defects, [], title)
    const worst = parsed
      .map(shapeOf)
      .find(({ nesting, values }) => nesting > nestingMax || values > valuesMax)
    t.equal(worst, undefined, title)
    const bytes = parsed.reduce((sum, text) => sum + text.length, 0)
    t.ok(bytes <= 2 * body.length, `${title}: ${bytes} of ${body.length} bytes are parsed`)
  }
})

t.test('an id is repeated byte for byte, and of several the last one counts', async (t) => {
  const { ask } = createTestEndpoint()
  const members = '"jsonrpc":"2.0","method":"test_null"'
  const rows: readonly (readonly [members: string, id: string])[] = [
    ['"id":9007199254740993', '9007199254740993'],
    ['"id":123456789012345678901234567890', '123456789012345678901234567890'],
    ['"id":-0', '-0'],
    ['"id":1.0', '1.0'],
    ['"id":1E400', '1E400'],
    ['"id" :\t"\\u0041" ', '"\\u0041"'],
    ['"id":"\\ud800"', '"\\ud800"'],
    ['"id":"é, }"', '"é, }"'],
    ['"id":"a\\\\\\""', '"a\\\\\\""'],
    ['"\\u0069d":1.5', '1.5'],
    ['"i\\u0064":1.5', '1.5'],
    ['"\\u0069\\u0064":1.5', '1.5'],
    ['"id":1.5,"id":2.5', '2.5'],
    ['"id":1.5,"\\u0069d":2.5', '2.5'],
    ['"\\u0069d":1.5,"id":2', '2'],
    ['"id":{"id":7},"id":2.5', '2.5'],
    ['"id":1.5,"x":{"id":7}', '1.5'],
    ['"id":1.5,"x":"id"', '1.5'],
  ]
  for (const [id, text] of rows) {
    const answer = `{"jsonrpc":"2.0","id":${text},"result":null}`
    t.equal(ask(`{${id},${members}}`), answer, id)
    t.equal(ask(`{${members},${id}}`), answer, id)
    t.equal(ask(`[{${members},${id}},{${id},${members}}]`), `[${answer},${answer}]`, id)
    const error = failure(-32600, 'invalid request: jsonrpc must be "2.0"')
    t.equal(ask(`{${id}}`), error.replace('"id":null', `"id":${text}`), 'also of a call that is not valid')
  }
  for (const id of ['"Id":1.5', '"\\u0069D":1.5', '"i":1.5', '"":1.5']) {
    t.equal(ask(`{${id},${members}}`), '', `${id} is no id`)
  }
  for (const id of ['true', '{}', '[1]', '[{"id":1}]']) {
    const why = 'invalid request: id must be a string, a number or null'
    t.equal(ask(`{"id":${id},${members}}`), failure(-32600, why), id)
  }
})

t.test('bytes that are not UTF-8 are no JSON, wherever they are', async (t) => {
  const { ask, network } = createTestEndpoint()
  for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xc3]]) {
    for (const [before, after] of [
      ['{"id":1,"jsonrpc":"2.0","method":"test_echo","params":["', '"]}'],
      ['[{"id":1,"jsonrpc":"2.0","method":"test_echo"},{"id":"', '"}]'],
      ['', '{"id":1,"jsonrpc":"2.0","method":"test_echo"}'],
    ] as const) {
      const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)])
      t.equal(ask(body), failure(-32700, 'parse error'), `${before}${bytes}`)
    }
  }
  t.equal(network.runs, 0)
})

t.test('a body is passed over up to the first limit that it exceeds', async (t) => {
  const { ask } = createTestEndpoint()
  const deeper = deep(nestingMax + 1)
  const many = items(valuesMax, '1')
  t.equal(ask(`[${many},${deeper}]`), tooMany)
  t.equal(ask(`[${deeper},${many}]`), tooDeep)
  t.equal(ask(call(`[${many},${deeper}`)), tooMany)
  t.equal(ask(call(`[${deeper},${many}`)), tooDeep)
  const calls = Array(1_001).fill(call('[]')).join()
  t.match(ask(`[${calls},${many}`), 'batch too large')
})
