import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { resolveServeConfig } from '../../../../src/operation/config/config.js'
import { defaultConfigFile, keyRates } from '../../../../src/operation/config/file.js'
import { findJsonFault } from '../../../../src/operation/config/json.js'
import { burstMax } from '../../../../src/serving/access/meter.js'
import { propertyRuns } from '../../../library/property.js'
import { refusal, writeConfig } from './folder.js'

t.test('every fault of a file is named with its path, in one run', async (t) => {
  const text = refusal(t.testdir(), {
    prot: 8545,
    port: 65_536,
    auth: 'no',
    cors: { origins: '*' },
    logLevel: 'loud',
    defaultNetwork: 'c',
    networks: [
      {
        name: 'v3',
        genesis: 'genesis.json',
        hosts: ['A.example', 'https://b.example'],
        safeLag: 3,
        finalizedLag: 2,
      },
      { name: 'Main', genesis: 'nowhere.json', finalizedLag: 'x', hosts: ['a.example'], safe: 0 },
      { name: 'ok', source: { type: 'http', path: '' }, finalisedLag: 1 },
      { name: 'ok', genesis: 'genesis.json', source: { type: 'file', path: 'none.rlp' }, chainId: 0 },
      7,
      { name: 'past', kind: 'ledger' },
      {
        name: 'roll',
        kind: 'rollup',
        chainId: 'ü',
        prefix: 'eth',
        genesis: 'genesis.json',
        upstream: { url: 'ftp://x', form: 'grpc', waitMs: 30_000, timeoutMS: 1 },
        queue: { ageMsMax: 1 },
      },
    ],
    limits: { bodyBytesMx: 1, batchCallsMax: -1, zzz: true },
    store: { mapBytes: 1.5 },
  })
  t.equal(
    text,
    [
      'the configuration DIR/tidegate.json has 34 faults; correct the faults below and start again',
      '  port: expected an integer from 0 to 65535, got 65536',
      '  auth: expected true or false, got "no"',
      '  cors.origins: expected an array, got "*"',
      '  logLevel: expected one of trace, debug, info, warn, error, silent, got "loud"',
      '  networks[0].name: expected a name other than v3, ws, health, admin, which addresses use, got "v3"',
      '  networks[0].hosts[1]: expected a host name without scheme and port, got "https://b.example"',
      '  networks[1].name: expected 1 to 32 lower-case letters, digits and hyphens, not beginning with a hyphen, got "Main"',
      '  networks[1].safe: expected true or false, got 0',
      '  networks[1].finalizedLag: expected a non-negative integer, got "x"',
      '  networks[2].genesis: expected the path of a genesis.json, got nothing',
      '  networks[2].source.type: expected "file", "replay", "follow", "develop", "consensus" or "feed", got "http"',
      '  networks[2].finalisedLag: unknown key; did you mean finalizedLag?',
      '  networks[3].chainId: expected an integer of at least 1, got 0',
      '  networks[4]: expected an object, got 7',
      '  networks[5].kind: expected "archive", "history", "gateway" or "rollup", got "ledger"',
      '  networks[6].chainId: expected up to 31 ASCII characters such as "SN_MAIN", or hex of up to 31 bytes, got "ü"',
      '  networks[6].prefix: expected a word of up to 32 letters and digits other than eth, net, web3 and tidegate, got "eth"',
      '  networks[6].upstream.url: expected an http or https URL, got "ftp://x"',
      '  networks[6].upstream.form: expected "rpc" or "gateway", got "grpc"',
      '  networks[6].upstream.timeoutMS: unknown key; did you mean timeoutMs?',
      '  networks[6].queue.ageMsMax: expected an integer of at least 1000, got 1',
      '  networks[6].genesis: unknown key; remove it',
      '  limits.batchCallsMax: expected an integer of at least 1, got -1',
      '  limits.bodyBytesMx: unknown key; did you mean bodyBytesMax?',
      '  limits.zzz: unknown key; remove it',
      '  store.mapBytes: expected an integer from 16777216 to 17592186044416, got 1.5',
      '  prot: unknown key; did you mean port?',
      '  networks[0].finalizedLag: expected at least safeLag (3), got 2',
      '  networks[1].hosts[0]: "a.example" already stands at networks[0].hosts[0]',
      '  networks[1].genesis: there is no file DIR/nowhere.json',
      '  networks[3].name: "ok" already stands at networks[2].name',
      '  networks[3].source.path: there is no file DIR/none.rlp',
      '  networks[6].upstream.waitMs: expected less than limits.requestMsMax (30000), got 30000',
      '  defaultNetwork: expected one of v3, Main, ok, past, roll, got "c"',
    ].join('\n'),
  )
})

t.test('every fault of a source is named with its path', async (t) => {
  const folder = t.testdir()
  const withSource = (source: unknown) => ({ networks: [{ name: 'a', genesis: 'genesis.json', source }] })
  const faults = (source: unknown) => {
    const [, ...lines] = refusal(folder, withSource(source)).split('\n  networks[0].source')
    return lines
  }
  const replay = { type: 'replay', file: 'chain.rlp', from: 5, intervalMs: 100 }
  const step = { after: 7, back: 2, file: 'chain.rlp' }
  const cases: readonly (readonly [unknown, readonly string[]])[] = [
    ['chain.rlp', [': expected an object, got "chain.rlp"']],
    [
      { path: 'chain.rlp' },
      ['.type: expected "file", "replay", "follow", "develop", "consensus" or "feed", got nothing'],
    ],
    [
      { type: 'file', path: '', from: 1 },
      ['.path: expected the path of a chain file, got ""', '.from: unknown key; remove it'],
    ],
    [
      { type: 'replay', path: 'chain.rlp' },
      [
        '.file: expected the path of a chain file, got nothing',
        '.from: expected a non-negative integer, got nothing',
        '.intervalMs: expected an integer from 1 to 3600000, got nothing',
        '.path: unknown key; remove it',
      ],
    ],
    [{ ...replay, from: -1 }, ['.from: expected a non-negative integer, got -1']],
    [{ ...replay, intervalMs: 0 }, ['.intervalMs: expected an integer from 1 to 3600000, got 0']],
    [
      { ...replay, intervalMs: 3_600_001 },
      ['.intervalMs: expected an integer from 1 to 3600000, got 3600001'],
    ],
    [{ ...replay, interval: 1 }, ['.interval: unknown key; did you mean intervalMs?']],
    [{ ...replay, file: 'none.rlp' }, ['.file: there is no file DIR/none.rlp']],
    [{ ...replay, script: 'x' }, ['.script: expected an array, got "x"']],
    [{ ...replay, script: [7] }, ['.script[0]: expected an object, got 7']],
    [
      { ...replay, script: [{ after: 'x', back: 0, file: 'none.rlp', bak: 1 }] },
      [
        '.script[0].after: expected a non-negative integer, got "x"',
        '.script[0].back: expected an integer from 1 to 1000, got 0',
        '.script[0].bak: unknown key; did you mean back?',
        '.script[0].file: there is no file DIR/none.rlp',
      ],
    ],
    [
      { ...replay, script: [step, { ...step, back: 1 }, { ...step, after: 9, back: 5 }] },
      [
        '.script[1].after: expected more than 7, which stands before it, got 7',
        '.script[2].back: expected at most after - from (9 - 5), because nothing below from is played, got 5',
      ],
    ],
  ]
  const upstream = { url: 'https://node.example/v3/SECRET' }
  const follow = { type: 'follow', upstreams: [upstream] }
  const followCases: readonly (readonly [unknown, readonly string[]])[] = [
    [{ type: 'follow' }, ['.upstreams: expected an array, got nothing']],
    [{ ...follow, upstreams: [] }, ['.upstreams: expected at least one node, got []']],
    [
      { ...follow, upstreams: [{ url: 'ftp://x' }] },
      ['.upstreams[0].url: expected a URL of http, https, ws or wss, got "ftp://x"'],
    ],
    [
      { ...follow, upstreams: ['ftp://x/key', 'http://x/key'] },
      ['.upstreams[0]: expected a URL of http, https, ws or wss, or an object, got "ftp://x/…"'],
    ],
    [{ ...follow, quorum: 2 }, ['.quorum: expected at most the number of upstreams (1), got 2']],
    [
      { ...follow, upstreams: [{ ...upstream, socketUrl: 'http://x', timeoutMs: 0, header: {} }] },
      [
        '.upstreams[0].socketUrl: expected a URL of ws or wss, got "http://x"',
        '.upstreams[0].timeoutMs: expected an integer from 100 to 600000, got 0',
        '.upstreams[0].header: unknown key; did you mean headers?',
      ],
    ],
    [{ ...follow, reorgDepthMax: 0 }, ['.reorgDepthMax: expected an integer from 1 to 8192, got 0']],
  ]
  const developCases: readonly (readonly [unknown, readonly string[]])[] = [
    [{ type: 'develop' }, []],
    [
      { type: 'develop', blockSeconds: 0.5, recorded: 'none.rlp' },
      [
        '.blockSeconds: expected an integer from 0 to 3600, got 0.5',
        '.recorded: there is no file DIR/none.rlp',
      ],
    ],
    [{ type: 'consensus' }, []],
    [
      { type: 'consensus', port: 65_536, host: '', jwtSecret: 'none.hex' },
      [
        '.host: expected a host name or IP address, got ""',
        '.port: expected an integer from 0 to 65535, got 65536',
        '.jwtSecret: there is no file DIR/none.hex',
      ],
    ],
  ]
  const feedCases: readonly (readonly [unknown, readonly string[]])[] = [
    [{ type: 'feed' }, ['.url: expected a URL of postgres, got nothing']],
    [{ type: 'feed', url: 'http://db/SECRET' }, ['.url: expected a URL of postgres, got "http://db/…"']],
    [
      { type: 'feed', url: 'postgres://db/x', schema: '', sendersChecked: -1 },
      [
        '.schema: expected the name of a schema, got ""',
        '.sendersChecked: expected a non-negative integer, got -1',
      ],
    ],
  ]
  for (const [source, expected] of developCases) {
    t.strictSame(faults(source), expected, JSON.stringify(source))
  }
  for (const [source, expected] of feedCases) t.strictSame(faults(source), expected, JSON.stringify(source))
  for (const [source, expected] of followCases) t.strictSame(faults(source), expected, JSON.stringify(source))
  for (const [source, expected] of cases) t.strictSame(faults(source), expected, JSON.stringify(source))
  const config = writeConfig(folder, withSource({ ...replay, script: [step] }))
  const chain = join(folder, 'chain.rlp')
  t.strictSame(resolveServeConfig({ config }).networks[0]?.source, {
    ...replay,
    file: chain,
    script: [{ ...step, file: chain }],
  })
})

t.test('what is published needs a source that executes', async (t) => {
  const folder = t.testdir()
  const url = 'postgres://tidegate:SECRET@db/x'
  const faults = (entry: unknown) =>
    refusal(folder, { networks: [{ name: 'a', genesis: 'genesis.json', ...(entry as object) }] })
  const needs =
    'networks[0].publish: expected a source beside it other than a feed: only blocks of a source are published'
  t.match(faults({ publish: { url } }), needs)
  t.match(faults({ publish: { url }, source: { type: 'feed', url } }), needs)
  const source = { type: 'follow', upstreams: [{ url: 'http://127.0.0.1:1' }] }
  const bad = faults({ source, publish: { url: 'SECRET', feedAheadMax: 0, leaseMs: 1, retainBlocks: 1 } })
  t.match(bad, 'networks[0].publish.url: expected a URL of postgres, got "…"')
  t.match(bad, 'networks[0].publish.feedAheadMax: expected an integer from 1 to 65536, got 0')
  t.match(bad, 'networks[0].publish.leaseMs: expected an integer from 200 to 600000, got 1')
  t.match(bad, 'networks[0].publish.retainBlocks: expected an integer of at least 256, got 1')
  t.notMatch(bad, 'SECRET')
})

t.test('a file that holds no object is refused', async (t) => {
  t.equal(
    refusal(t.testdir(), '[]'),
    'the configuration DIR/tidegate.json has one fault; correct the faults below and start again\n  the whole file: expected an object, got []',
  )
  t.match(refusal(t.testdir(), { networks: [] }), /networks: expected at least one network, got \[\]/)
})

t.test('an origin that no browser sends is refused', async (t) => {
  t.equal(
    refusal(t.testdir(), { cors: { origins: ['*', 'https://a.example/'] } }).split('\n')[1],
    '  cors.origins[1]: expected an origin such as "https://example.org", "localhost", or "*", got "https://a.example/"',
  )
  const config = writeConfig(t.testdir(), { cors: { origins: ['HTTPS://A.example:8080', 'null'] } })
  t.strictSame(resolveServeConfig({ config }).cors.origins, ['https://a.example:8080', 'null'])
})

t.test('a long value is cut in its fault', async (t) => {
  t.match(refusal(t.testdir(), { port: 'x'.repeat(100) }), /got "x{59}…$/)
})

t.test('where a file stops being JSON is named by line and column', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['{\n  "port": 1,\n}', 'line 3, column 1: expected a key in double quotes, got "}"'],
    ['{"port": 1 "host": "x"}', 'line 1, column 12: expected "," or "}", got "\\""'],
    ['{"auth": tru}', 'line 1, column 10: expected a value, got "t"'],
    ['', 'line 1, column 1: expected a value, got the end of the file'],
    ['{"port": 1', 'line 1, column 11: expected "," or "}", got the end of the file'],
    ['{"a": [1 2]}', 'line 1, column 10: expected "," or "]", got "2"'],
    ['{} x', 'line 1, column 4: expected nothing more, got "x"'],
    ['{"port": 1,\n "port": 2}', 'line 2, column 2: key "port" occurs twice in one object'],
    [
      '{"host": "a\nb"}',
      'line 1, column 10: this string is not closed, or holds a raw control character or a bad escape',
    ],
    ['{\n  // mine\n  "port": 1}', 'line 2, column 3: JSON has no comments; remove this one'],
    ['{"port": 1, /* mine */ "host": "x"}', 'line 1, column 13: JSON has no comments; remove this one'],
    ['{"port": 1} # mine', 'line 1, column 13: JSON has no comments; remove this one'],
    ['{"port": /1}', 'line 1, column 10: expected a value, got "/"'],
    ['{port: 1}', 'line 1, column 2: expected a key in double quotes, got "p"'],
    [`${'['.repeat(66)}`, 'line 1, column 66: nested deeper than 64 levels'],
  ]
  for (const [content, why] of cases) {
    t.equal(refusal(t.testdir(), content), `the configuration DIR/tidegate.json is not JSON: ${why}`)
  }
})

t.test('the search for syntax faults agrees with JSON.parse', async (t) => {
  const alphabet = fc.constantFrom(...'{}[]:,"\\u0aeE.-+1 \ntrfalsn')
  const texts = fc.oneof(
    fc.json({ maxDepth: 5 }),
    fc.string({ unit: alphabet, maxLength: 12 }),
    fc.tuple(fc.json(), fc.nat(), alphabet).map(([json, at, character]) => {
      const offset = at % (json.length + 1)
      return json.slice(0, offset) + character + json.slice(offset + 1)
    }),
  )
  const agrees = fc.property(texts, (text) => {
    const fault = findJsonFault(text)
    if (fault?.why.includes('occurs twice')) return true
    let parses = true
    try {
      JSON.parse(text)
    } catch {
      parses = false
    }
    return (fault === undefined) === parses
  })
  t.doesNotThrow(() => fc.assert(agrees, propertyRuns(2_000)))
})

t.test('a file that cannot be read is refused', async (t) => {
  const folder = t.testdir({ 'large.json': ' '.repeat(2 ** 20 + 1) })
  t.throws(() => resolveServeConfig({ config: join(folder, 'none.json') }), {
    name: 'UsageError',
    message: `cannot read the configuration ${folder}/none.json (ENOENT); check --config`,
  })
  t.throws(() => resolveServeConfig({ config: folder }), { message: /\(EISDIR\); check --config$/ })
  t.throws(() => resolveServeConfig({ config: join(folder, 'large.json') }), { message: /larger than 1 MiB/ })
})

t.test('a burst needs a rate, and room for the dearest call', async (t) => {
  t.equal(
    refusal(t.testdir(), { limits: { keyUnitsBurst: 30_000 } }).split('\n')[1],
    '  limits.keyUnitsBurst: expected keyUnitsPerSecond beside it, without which nothing is counted',
  )
  t.equal(
    refusal(t.testdir(), { limits: { keyUnitsPerSecond: 10, keyUnitsBurst: 24_999 } }).split('\n')[1],
    '  limits.keyUnitsBurst: expected an integer from 25000 to 1000000000, got 24999',
  )
  t.equal(
    refusal(t.testdir(), { limits: { keyUnitsPerSecond: 0 } }).split('\n')[1],
    '  limits.keyUnitsPerSecond: expected an integer from 1 to 1000000, got 0',
  )
  t.equal(refusal(t.testdir(), { limits: { keyUnitsPerSecond: 10, keyUnitsBurst: 25_000 } }), 'accepted')
})

t.test(
  'nothing is counted unless a rate is set, whose burst is ten seconds or the dearest call',
  async (t) => {
    const { limits } = defaultConfigFile()
    t.equal(keyRates(limits), undefined)
    t.same(keyRates({ ...limits, keyUnitsPerSecond: 10 }), { unitsPerSecond: 10, unitsBurst: 25_000 })
    t.same(keyRates({ ...limits, keyUnitsPerSecond: 5_000 }), { unitsPerSecond: 5_000, unitsBurst: 50_000 })
    t.same(keyRates({ ...limits, keyUnitsPerSecond: 10, keyUnitsBurst: 26_000 }), {
      unitsPerSecond: 10,
      unitsBurst: 26_000,
    })
    t.ok(10 * 1_000_000 <= burstMax, 'the highest rate fits')
  },
)

t.test('a shared queue is in PostgreSQL', async (t) => {
  const entry = { name: 'roll', kind: 'rollup', chainId: 'SN_MAIN' }
  const bad = refusal(t.testdir(), {
    networks: [{ ...entry, queue: { shared: { url: 'mysql://root:SECRET@db/x', leaseMs: 1 } } }],
  })
  t.match(bad, 'networks[0].queue.shared.url: expected a URL of postgres, got "mysql://db')
  t.match(bad, 'networks[0].queue.shared.leaseMs: expected an integer from 200 to 600000, got 1')
  t.notMatch(bad, 'SECRET')
})

t.test('a folder in place of a file is told', async (t) => {
  const networks = [
    { name: 'a', genesis: '.' },
    { name: 'b', genesis: 'genesis.json', source: { type: 'file', path: '.' }, storageLayouts: '.' },
  ]
  const text = refusal(t.testdir({ 'genesis.json': '{}' }), { networks })
  for (const path of ['[0].genesis', '[1].source.path', '[1].storageLayouts']) {
    t.match(text, new RegExp(`networks\\${path.replace(']', '\\]')}: \\S+ is a folder, and a file is needed`))
  }
})

t.test('how much of the past is kept has to be possible', async (t) => {
  const faults = [
    [
      { history: { state: 63 } },
      'history.state: expected "all" or a number of blocks of at least 64, got 63',
    ],
    [{ history: { trie: 63 } }, 'history.trie: expected "all" or a number of blocks of at least 64, got 63'],
    [
      { history: { receipts: 100, bodies: 99 } },
      'history.bodies: expected bodies of at least as many blocks as receipts, which are reported with them',
    ],
    [
      { history: { state: 100 }, source: { type: 'replay', file: 'genesis.json', from: 0, intervalMs: 1 } },
      'history.state: expected "all", since a replay plays its blocks again at each start',
    ],
  ] as const
  for (const [members, fault] of faults) {
    const networks = [{ name: 'a', genesis: 'genesis.json', ...members }]
    t.match(refusal(t.testdir({ 'genesis.json': '{}' }), { networks }), `networks[0].${fault}`)
  }
})
