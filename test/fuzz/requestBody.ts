/** Requests as random as they are wrong, for every test that feeds them to a reader or a server. */
import fc from 'fast-check'

const idText = fc.oneof(
  fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
  fc.json({ maxDepth: 1 }),
  fc.constantFrom('1.0', '1e3', '-0', '"\\u0041\\/"', 'null', 'tru', '--1', '"'),
)
const method = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.constantFrom(
      '"test_echo"',
      '"test_echo"',
      '"test_bytes"',
      '"test_fault"',
      '"test_null"',
      '"test_count"',
      '"__proto__"',
    ),
  },
  { weight: 1, arbitrary: fc.json({ maxDepth: 1 }) },
)
const params = fc.oneof(
  { weight: 1, arbitrary: fc.json({ maxDepth: 3 }) },
  { weight: 4, arbitrary: fc.json({ maxDepth: 2 }).map((json) => `[${json}]`) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      '["0x1"]',
      '["0x2"]',
      '[]',
      '[1,}',
      '{"a":[}]',
      '[[[[',
      '[null]',
      '["\ud800"]',
    ),
  },
)
const single = fc
  .record({
    id: fc.option(idText, { freq: 8 }),
    method: fc.option(method, { freq: 20 }),
    params: fc.option(params),
    version: fc.constantFrom('"2.0"', '"2.0"', '"2.0"', '"2.0"', '"1.0"', '2'),
    order: fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }),
    space: fc.constantFrom('', '', '', '', ' ', ' ', '\n', '\t', '\u00a0'),
  })
  .map(({ id, method, params, version, order, space }) => {
    const members = [
      `"jsonrpc":${version}`,
      ...(id === null ? [] : [`"id":${space}${id}`]),
      ...(method === null ? [] : [`"method"${space}:${method}`]),
      ...(params === null ? [] : [`"params":${params}`]),
    ]
    return `{${order.flatMap((i) => members[i] ?? []).join(`,${space}`)}}`
  })
const whole = fc.oneof(
  { weight: 6, arbitrary: single },
  { weight: 2, arbitrary: fc.array(single, { maxLength: 5 }).map((all) => `[${all.join(',')}]`) },
  { weight: 1, arbitrary: fc.json() },
)
const mutation = fc.record({
  at: fc.nat(),
  cut: fc.nat(6),
  bytes: fc.oneof(
    fc.uint8Array({ maxLength: 4 }),
    fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':').map((sign) => Buffer.from(sign)),
    // A byte order mark, NUL, an overlong form, half a surrogate pair, a byte that is never valid in UTF-8.
    fc
      .constantFrom([0xef, 0xbb, 0xbf], [0], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xff])
      .map((bytes) => Buffer.from(bytes)),
    // A backslash escapes a quote, and another one a backslash.
    fc.constantFrom('\\\\"', '\\"', '\\ud800', '\\u0000', '1e400', '[[]]').map((text) => Buffer.from(text)),
  ),
})
/** Bytes of a request: most of them nearly JSON-RPC. */
export const requestBody: fc.Arbitrary<Buffer> = fc
  .record({ text: whole, mutations: fc.oneof(fc.constant([]), fc.array(mutation, { maxLength: 3 })) })
  .map(({ text, mutations }) => {
    let bytes = Buffer.from(text)
    for (const { at, cut, bytes: inserted } of mutations) {
      const i = at % (bytes.length + 1)
      bytes = Buffer.concat([bytes.subarray(0, i), inserted, bytes.subarray(i + cut)])
    }
    return bytes
  })
