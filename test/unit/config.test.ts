import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import {
  isLoopback,
  packageRoot,
  resolveDataConfig,
  resolveImportConfig,
  resolveServeConfig,
  resolveVerifyConfig,
} from '../../src/config.js'
import { findJsonFault } from '../../src/configJson.js'
import { UsageError } from '../../src/primitives/faults.js'

/** A folder with a genesis, a chain and the given configuration; returns the configuration's path. */
function writeConfig(folder: string, content: unknown): string {
  writeFileSync(join(folder, 'genesis.json'), '{}')
  writeFileSync(join(folder, 'chain.rlp'), '')
  const path = join(folder, 'tidegate.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

/** What a configuration is refused with, its own path cut out. */
function refusal(folder: string, content: unknown): string {
  const path = writeConfig(folder, content)
  try {
    resolveServeConfig({ config: path })
  } catch (error) {
    if (error instanceof UsageError) return error.message.replaceAll(folder, 'DIR')
    throw error
  }
  return 'accepted'
}

function makeStore(dataDir: string, name: string): void {
  mkdirSync(join(dataDir, 'networks', name), { recursive: true })
  writeFileSync(join(dataDir, 'networks', name, 'chain.mdb'), '')
}

t.test('without a file, the embedded demo network is served to this machine alone, with keys', async (t) => {
  const config = resolveServeConfig({})
  t.equal(config.host, '127.0.0.1')
  t.equal(config.port, 8545)
  t.equal(config.auth, true)
  t.equal(config.logLevel, 'info')
  t.equal(config.defaultNetwork, 'demo')
  t.equal(config.dataDir, join(process.cwd(), 'data/live'))
  t.strictSame(config.cors, { origins: ['*'] })
  t.strictSame(
    config.networks.map(({ name, isEmbedded, genesisPath, source }) => ({
      name,
      isEmbedded,
      genesisPath,
      source,
    })),
    [
      {
        name: 'demo',
        isEmbedded: true,
        genesisPath: join(packageRoot(), 'data/devnet/genesis.json'),
        source: { type: 'file', path: join(packageRoot(), 'data/devnet/chain.rlp') },
      },
    ],
  )
})

t.test('limits default to the ones that users of geth know', async (t) => {
  t.match(resolveServeConfig({}).limits, {
    bodyBytesMax: 5_242_880,
    batchCallsMax: 1_000,
    batchAnswerBytesMax: 25_000_000,
    requestMsMax: 30_000,
  })
})

t.test('the settings are frozen to the bottom', async (t) => {
  const config = resolveServeConfig({})
  t.ok(
    Object.isFrozen(config) && Object.isFrozen(config.limits) && Object.isFrozen(config.networks[0]?.hosts),
  )
})

t.test('paths of a file are relative to its folder', async (t) => {
  const folder = t.testdir()
  const config = resolveServeConfig({
    config: writeConfig(folder, {
      dataDir: 'stores',
      networks: [{ name: 'a', genesis: 'genesis.json', source: { type: 'file', path: './chain.rlp' } }],
    }),
  })
  t.equal(config.dataDir, join(folder, 'stores'))
  t.match(config.networks[0], {
    genesisPath: join(folder, 'genesis.json'),
    source: { path: join(folder, 'chain.rlp') },
    storePath: join(folder, 'stores/networks/a/chain.mdb'),
    isEmbedded: false,
  })
  t.strictSame(config.node, {
    store: join(folder, 'stores/node/node.mdb'),
    pepper: join(folder, 'stores/node/pepper'),
    demoKey: join(folder, 'stores/node/demo-key'),
  })
})

t.test('flags override the file', async (t) => {
  const folder = t.testdir()
  const path = writeConfig(folder, {
    host: '0.0.0.0',
    port: 1,
    dataDir: 'one',
    logLevel: 'warn',
    defaultNetwork: 'a',
    networks: [
      { name: 'a', genesis: 'genesis.json' },
      { name: 'b', genesis: 'genesis.json' },
    ],
  })
  const config = resolveServeConfig({
    config: path,
    host: 'localhost',
    port: 2,
    data: join(folder, 'two'),
    logLevel: 'error',
    network: 'b',
    noAuth: true,
  })
  t.match(config, {
    host: 'localhost',
    port: 2,
    dataDir: join(folder, 'two'),
    logLevel: 'error',
    auth: false,
    defaultNetwork: 'b',
  })
  t.strictSame(
    config.networks.map(({ name }) => name),
    ['b'],
  )
  t.match(resolveServeConfig({ config: path }), { host: '0.0.0.0', port: 1, defaultNetwork: 'a', auth: true })
  t.throws(() => resolveServeConfig({ config: path, network: 'c' }), {
    message: 'the configuration has no network c; choose one of a, b',
  })
})

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
      { name: 'past', kind: 'history' },
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
      'the configuration DIR/tidegate.json has 35 faults; mend what is listed here and start again',
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
      '  networks[2].source.type: expected "file", got "http"',
      '  networks[2].source.path: expected the path of a chain file, got ""',
      '  networks[2].finalisedLag: unknown key; did you mean finalizedLag?',
      '  networks[3].chainId: expected an integer of at least 1, got 0',
      '  networks[4]: expected an object, got 7',
      '  networks[5].kind: expected "archive" or "rollup", got "history"',
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
      '  store.mapBytes: expected an integer from 16777216 to 70368744177664, got 1.5',
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

t.test('a rollup network stands beside the others, with its defaults', async (t) => {
  const folder = t.testdir()
  const path = writeConfig(folder, {
    dataDir: 'stores',
    networks: [
      {
        name: 'roll',
        kind: 'rollup',
        chainId: 'SN_MAIN',
        aliases: ['starknet'],
        upstream: { url: 'http://x/rpc' },
      },
      { name: 'a', genesis: 'genesis.json' },
    ],
  })
  const config = resolveServeConfig({ config: path })
  t.equal(config.defaultNetwork, 'roll')
  t.strictSame(
    config.networks.map(({ name }) => name),
    ['a'],
  )
  t.strictSame(config.rollups, [
    {
      name: 'roll',
      kind: 'rollup',
      hosts: [],
      chainId: 'SN_MAIN',
      prefix: 'rollupx',
      aliases: ['starknet'],
      upstream: {
        url: 'http://x/rpc',
        form: 'rpc',
        mode: 'wait',
        timeoutMs: 10_000,
        waitMs: 10_000,
        inFlightMax: 64,
      },
      calldataMax: 5_000,
      signatureMax: 4_000,
      idempotent: false,
      queue: {
        transactionsMax: 10_000,
        bytesMax: 268_435_456,
        ageMsMax: 86_400_000,
        retentionMs: 86_400_000,
        settledMax: 100_000,
      },
      isEmbedded: false,
      lockPath: join(folder, 'stores/node/rollup-roll'),
    },
  ])
  t.strictSame(resolveServeConfig({ config: path, network: 'roll' }).networks, [])
  t.throws(() => resolveVerifyConfig({ config: path, network: 'roll' }), {
    message: 'network roll is of kind rollup and has no chain; name another one',
  })
})

t.test('a file that holds no object is refused', async (t) => {
  t.equal(
    refusal(t.testdir(), '[]'),
    'the configuration DIR/tidegate.json has one fault; mend what is listed here and start again\n  the whole file: expected an object, got []',
  )
  t.match(refusal(t.testdir(), { networks: [] }), /networks: expected at least one network, got \[\]/)
})

t.test('an origin that no browser sends is refused', async (t) => {
  t.equal(
    refusal(t.testdir(), { cors: { origins: ['*', 'https://a.example/'] } }).split('\n')[1],
    '  cors.origins[1]: expected an origin such as "https://example.org", or "*", got "https://a.example/"',
  )
  const config = writeConfig(t.testdir(), { cors: { origins: ['HTTPS://A.example:8080', 'null'] } })
  t.strictSame(resolveServeConfig({ config }).cors.origins, ['https://a.example:8080', 'null'])
})

t.test('bodies still arriving must have room for the largest', async (t) => {
  t.equal(
    refusal(t.testdir(), { limits: { bodyBytesMax: 2 ** 29 } }).split('\n')[1],
    '  limits.bufferedBodyBytesMax: expected at least bodyBytesMax (536870912), got 268435456',
  )
})
t.equal(
  refusal(t.testdir(), { limits: { subscriptionQueueBytes: 2 ** 25 } }).split('\n')[1],
  '  limits.subscriptionQueueBytesMax: expected at least subscriptionQueueBytes (33554432), got 16777216',
)

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
    ['{"port": 1,\n "port": 2}', 'line 2, column 2: key "port" stands twice in one object'],
    [
      '{"host": "a\nb"}',
      'line 1, column 10: this string is not closed, or holds a raw control character or a bad escape',
    ],
    ['{port: 1}', 'line 1, column 2: expected a key in double quotes, got "p"'],
    [`${'['.repeat(66)}`, 'line 1, column 66: nested deeper than 64 levels'],
  ]
  for (const [content, why] of cases) {
    t.equal(refusal(t.testdir(), content), `the configuration DIR/tidegate.json is not JSON: ${why}`)
  }
})

t.test('the search for syntax faults agrees with JSON.parse', async () => {
  const alphabet = fc.constantFrom(...'{}[]:,"\\u0aeE.-+1 \ntrfalsn')
  const texts = fc.oneof(
    fc.json({ maxDepth: 5 }),
    fc.string({ unit: alphabet, maxLength: 12 }),
    fc.tuple(fc.json(), fc.nat(), alphabet).map(([json, at, character]) => {
      const offset = at % (json.length + 1)
      return json.slice(0, offset) + character + json.slice(offset + 1)
    }),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const fault = findJsonFault(text)
      if (fault?.why.includes('stands twice')) return true
      let parses = true
      try {
        JSON.parse(text)
      } catch {
        parses = false
      }
      return (fault === undefined) === parses
    }),
    { numRuns: 2_000 },
  )
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

t.test('serving without keys is refused on an address that others can reach', async (t) => {
  for (const host of ['0.0.0.0', '192.168.1.2', '::', 'example.org', '127.evil.example', '128.0.0.1']) {
    t.equal(isLoopback(host), false, host)
    t.throws(() => resolveServeConfig({ host, noAuth: true }), {
      name: 'UsageError',
      message: `without API keys only this machine may be served: listen on 127.0.0.1, ::1 or localhost instead of ${host}, or leave auth on`,
    })
  }
  for (const host of ['127.0.0.1', '127.8.9.1', '::1', 'localhost', 'LocalHost']) {
    t.equal(isLoopback(host), true, host)
    t.equal(resolveServeConfig({ host, noAuth: true }).auth, false)
  }
  t.match(refusal(t.testdir(), { auth: false, host: '0.0.0.0' }), /^without API keys/)
})

t.test('--network without a configuration serves a store that exists', async (t) => {
  const dataDir = t.testdir()
  t.throws(() => resolveServeConfig({ data: dataDir, network: 'mine' }), {
    message: `there is no store of network mine under ${dataDir}; make one with: tidegate import --network mine --genesis FILE CHAIN`,
  })
  makeStore(dataDir, 'sepolia')
  t.throws(() => resolveServeConfig({ data: dataDir, network: 'sepola' }), {
    message: /did you mean sepolia\?$/,
  })
  t.throws(() => resolveServeConfig({ data: dataDir, network: '../sepolia' }), {
    message: /^--network: expected 1 to 32/,
  })
  const { networks, defaultNetwork } = resolveServeConfig({ data: dataDir, network: 'sepolia' })
  t.equal(defaultNetwork, 'sepolia')
  t.match(networks, [
    { name: 'sepolia', isEmbedded: false, storePath: join(dataDir, 'networks/sepolia/chain.mdb') },
  ])
  t.equal(networks[0]?.genesisPath, undefined)
  t.equal(resolveServeConfig({ data: dataDir, network: 'demo' }).networks[0]?.isEmbedded, true)
})

t.test('an import needs a genesis until the network has a store', async (t) => {
  const folder = t.testdir()
  const config = writeConfig(folder, {
    dataDir: 'stores',
    networks: [{ name: 'a', genesis: 'genesis.json' }],
  })
  const chain = join(folder, 'chain.rlp')
  const data = join(folder, 'other')

  t.match(resolveImportConfig({ config }, [chain]), {
    network: { name: 'a', genesisPath: join(folder, 'genesis.json') },
    chainPaths: [chain],
  })
  t.throws(() => resolveImportConfig({ data }, [chain]), { message: 'name the network with --network NAME' })
  t.throws(() => resolveImportConfig({ data, network: 'b' }, [chain]), {
    message: `network b has no store under ${data} yet; name its genesis with --genesis FILE for the first import`,
  })
  t.throws(() => resolveImportConfig({ config }, [chain, join(folder, 'none.rlp')]), {
    message: `there is no file ${folder}/none.rlp; check its path`,
  })
  const genesis = join(folder, 'genesis.json')
  t.equal(resolveImportConfig({ data, network: 'b', genesis }, [chain]).network.genesisPath, genesis)
  makeStore(data, 'b')
  t.equal(resolveImportConfig({ data, network: 'b' }, [chain]).network.genesisPath, undefined)
})

t.test('a verification takes the only network there is', async (t) => {
  const data = t.testdir()
  t.throws(() => resolveVerifyConfig({ data }), { message: 'name the network with --network NAME' })
  makeStore(data, 'a')
  t.match(resolveVerifyConfig({ data, seed: 7 }), { network: { name: 'a' }, blocks: 8, seed: 7 })
  makeStore(data, 'b')
  t.throws(() => resolveVerifyConfig({ data }), {
    message: 'name the network with --network NAME, one of a, b',
  })
  t.throws(() => resolveVerifyConfig({ data, network: 'c' }), {
    message: `there is no store of network c under ${data}; choose one of a, b`,
  })
})

t.test('commands on keys read the data folder from the file', async (t) => {
  const folder = t.testdir()
  const config = writeConfig(folder, { dataDir: 'stores', store: { mapBytes: 2 ** 30 } })
  t.match(resolveDataConfig({ config }), { dataDir: join(folder, 'stores'), mapBytes: 2 ** 30 })
  t.equal(resolveDataConfig({ config, data: folder }).dataDir, folder)
})
