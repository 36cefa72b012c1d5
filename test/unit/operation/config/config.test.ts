import { join } from 'node:path'
import t from 'tap'
import {
  resolveDataConfig,
  resolveImportConfig,
  resolveServeConfig,
  resolveVerifyConfig,
} from '../../../../src/operation/config/config.js'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'
import { isLoopback } from '../../../../src/primitives/urls.js'
import { makeStore, refusal, writeConfig } from './folder.js'

t.test('a URL is short for a node that is asked', (t) => {
  const of = (...upstreams: unknown[]) => {
    const networks = [{ name: 'main', kind: 'gateway', upstreams }]
    return resolveServeConfig({ config: writeConfig(t.testdir(), { networks }) }).networks[0]?.gateway
      ?.upstreams
  }
  t.strictSame(of('http://x/key', 'wss://y'), of({ url: 'http://x/key' }, { url: 'wss://y' }))
  t.match(of('http://x/key'), [{ url: 'http://x/key', timeoutMs: 5_000 }])
  t.end()
})

t.test(
  'tracers in JavaScript run on developer chains, where there are no keys, and where a network says so',
  (t) => {
    const genesis = join(packageRoot(), 'data/devnet/genesis.json')
    const networks = [
      { name: 'archive', genesis },
      { name: 'developer', genesis, source: { type: 'develop' } },
      { name: 'on', genesis, javascriptTracers: true },
      { name: 'off', genesis, source: { type: 'develop' }, javascriptTracers: false },
      { name: 'gateway', kind: 'gateway', upstreams: ['http://x'] },
      { name: 'gateway-on', kind: 'gateway', upstreams: ['http://x'], javascriptTracers: true },
    ]
    const config = writeConfig(t.testdir(), { networks })
    const on = (noAuth: boolean) =>
      resolveServeConfig({ config, noAuth })
        .networks.filter(({ javascriptTracers }) => javascriptTracers === true)
        .map(({ name }) => name)
    t.strictSame(on(false), ['developer', 'on', 'gateway-on'])
    t.strictSame(on(true), ['archive', 'developer', 'on', 'gateway', 'gateway-on'])
    t.equal(resolveServeConfig({}).networks[0]?.javascriptTracers, true, 'the demo network')
    t.end()
  },
)

t.test('without a file, the embedded demo network is served to this machine alone, with keys', async (t) => {
  const config = resolveServeConfig({})
  t.equal(config.host, '127.0.0.1')
  t.equal(config.port, 8545)
  t.equal(config.auth, true)
  t.equal(config.logLevel, 'info')
  t.equal(config.defaultNetwork, 'demo')
  t.equal(config.dataDir, join(process.cwd(), 'data/live'))
  t.strictSame(config.cors, { origins: ['*'] })
  t.strictSame(resolveServeConfig({ noAuth: true }).cors, { origins: ['localhost'] }, 'a developer chain')
  const archive = { name: 'a', genesis: join(packageRoot(), 'data/devnet/genesis.json') }
  const chains = [archive, { ...archive, name: 'b', source: { type: 'develop' } }]
  const mixed = writeConfig(t.testdir(), { auth: false, networks: chains })
  t.strictSame(resolveServeConfig({ config: mixed }).cors, { origins: [] }, 'one that is none')
  t.strictSame(resolveServeConfig({ noAuth: true, cors: ['HTTP://localhost:3000', '*'] }).cors, {
    origins: ['http://localhost:3000', '*'],
  })
  const open = writeConfig(t.testdir(), { auth: false, cors: { origins: ['https://a.example'] } })
  t.strictSame(resolveServeConfig({ config: open }).cors, { origins: ['https://a.example'] })
  t.strictSame(resolveServeConfig({ config: open, cors: ['null'] }).cors, { origins: ['null'] })
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
        source: {
          type: 'develop',
          recorded: join(packageRoot(), 'data/devnet/chain.rlp'),
          blockSeconds: 2,
          mining: true,
          accounts: 10,
        },
      },
    ],
  )
  const { networks } = resolveServeConfig({ network: 'demo', data: t.testdir() })
  t.strictSame(networks[0]?.source, config.networks[0]?.source, 'also in a data folder of its own')
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
    upstreams: join(folder, 'stores/node/upstreams.json'),
    calls: join(folder, 'stores/node/calls.jsonl'),
    store: join(folder, 'stores/node/node.mdb'),
    pepper: join(folder, 'stores/node/pepper'),
    demoKey: join(folder, 'stores/node/demo-key'),
    adminToken: join(folder, 'stores/node/admin-token'),
    jwtSecret: join(folder, 'stores/node/jwt.hex'),
    sharedKeys: join(folder, 'stores/node/shared-keys.mdb'),
  })
})

t.test('the database of shared keys, for the server and for commands', async (t) => {
  const url = 'postgres://tidegate@db.internal/tidegate'
  const config = writeConfig(t.testdir(), { shared: { url } })
  const expected = { url, schema: 'tidegate', graceMs: 600_000, leaseMs: 15_000 }
  t.strictSame(resolveServeConfig({ config }).shared, expected)
  t.strictSame(resolveDataConfig({ config }).shared, expected)
  t.equal(resolveDataConfig({}).shared, undefined)
  const wrong = writeConfig(t.testdir(), { shared: { url: 'http://SECRET', graceMs: -1, leaseMs: 0 } })
  t.throws(() => resolveDataConfig({ config: wrong }), {
    message:
      /shared.url: expected a URL of postgres.*\n.*shared.graceMs: expected an integer.*\n.*shared.leaseMs: expected an integer from 1000/,
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

t.test('without networks of its own, a configuration has the demo network and a rollup', async (t) => {
  const dataDir = t.testdir()
  for (const defaultNetwork of ['demo', 'rollup']) {
    const config = writeConfig(t.testdir(), { dataDir, defaultNetwork })
    t.equal(resolveServeConfig({ config }).defaultNetwork, defaultNetwork)
  }
  t.match(refusal(t.testdir(), { defaultNetwork: 'x' }), 'expected one of demo, rollup, got "x"')
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
        inFlightMax: 64,
        unknownAnswersMax: 8,
      },
      calldataMax: 5_000,
      signatureMax: 4_000,
      idempotent: false,
      queue: {
        transactionsMax: 10_000,
        bytesMax: 268_435_456,
        ageMsMax: 86_400_000,
        retentionMs: 86_400_000,
        keySharePercent: 25,
        settledMax: 100_000,
      },
      isEmbedded: false,
      lockPath: join(folder, 'stores/node/rollup-roll'),
      verdictMsMax: 10_000,
    },
  ])
  t.strictSame(resolveServeConfig({ config: path, network: 'roll' }).networks, [])
  t.throws(() => resolveVerifyConfig({ config: path, network: 'roll' }), {
    message: 'network roll is of kind rollup and has no chain; name another one',
  })
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
  t.throws(() => resolveServeConfig({ data: dataDir, network: 'nothing-like-it' }), {
    message: /choose one of sepolia, demo, rollup$/,
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
  for (const network of [undefined, 'a']) {
    const message = `there is no folder ${data}/none; check --data`
    t.throws(() => resolveVerifyConfig({ data: join(data, 'none'), network }), { message })
  }
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

t.test('a URL or a folder in place of a file is named as such', async (t) => {
  const folder = t.testdir({ 'genesis.json': '{}', chain: '', empty: {} })
  const genesis = join(folder, 'genesis.json')
  const url = 'https://user:pass@files.example/KEY/chain.rlp'
  const isUrl = 'https://files.example/… is a URL, and a file is needed; download it and name that file'
  const isFolder = `${folder}/empty is a folder, and a file is needed; name one in it`
  const flags = { network: 'a', genesis, data: folder }
  const chain = [join(folder, 'chain')]
  const empty = join(folder, 'empty')
  t.throws(() => resolveImportConfig(flags, [url]), { message: isUrl })
  t.throws(() => resolveImportConfig({ ...flags, genesis: url }, chain), { message: isUrl })
  t.throws(() => resolveImportConfig({ ...flags, genesis: empty }, chain), { message: isFolder })
  t.throws(() => resolveImportConfig({ ...flags, accumulators: empty }, chain), { message: isFolder })
  t.throws(() => resolveImportConfig(flags, [empty]), {
    message: `the folder ${folder}/empty has no archives (.era1, .ere); name files`,
  })
  const upstream = ['http://127.0.0.1:1']
  t.throws(() => resolveServeConfig({ network: 'a', data: folder, upstream, genesis: empty }), {
    message: isFolder,
  })
})

t.test('commands on keys read the data folder from the file', async (t) => {
  const folder = t.testdir()
  const config = writeConfig(folder, { dataDir: 'stores', store: { mapBytes: 2 ** 30 } })
  t.match(resolveDataConfig({ config }), { dataDir: join(folder, 'stores'), mapBytes: 2 ** 30 })
  t.equal(resolveDataConfig({ config, data: folder }).dataDir, folder)
})

t.test('flags put a network under a consensus client', async (t) => {
  const folder = t.testdir({ 'genesis.json': '{}', 'jwt.hex': '00' })
  const genesis = join(folder, 'genesis.json')
  const jwtSecret = join(folder, 'jwt.hex')
  const serve = (flags: object) => resolveServeConfig({ data: folder, network: 'mine', ...flags })
  const [network] = serve({ genesis, enginePort: 0, jwtSecret }).networks
  t.match(network, { name: 'mine', kind: 'archive', genesisPath: genesis })
  t.strictSame(network?.source, {
    type: 'consensus',
    host: '127.0.0.1',
    port: 0,
    jwtSecret,
    from: [],
    beaconNodes: [],
    transactions: { to: [] },
  })
  const engineFrom = ['https://a.example']
  t.match(serve({ genesis, engineFrom }).networks[0]?.source, { from: [{ url: engineFrom[0] }] })
  const [beacon] = serve({ genesis, engineBeacon: engineFrom }).networks
  t.match(beacon?.source, { type: 'consensus', from: [], beaconNodes: [{ url: engineFrom[0] }] })
  t.throws(() => serve({ genesis, engineBeacon: [...engineFrom, ...engineFrom] }), {
    message: /--engine-beacon names one URL twice/,
  })
  t.match(serve({ genesis, jwtSecret }).networks[0]?.source, { port: 8551 }, 'the secret alone says so too')
  t.match(serve({ genesis, engineHost: '::1' }).networks[0]?.source, { host: '::1', port: 8551 })
  t.throws(() => serve({ genesis, enginePort: 0, follow: 'http://127.0.0.1:1' }), {
    message: /exclude each other/,
  })
  t.throws(() => serve({ genesis, jwtSecret: join(folder, 'none') }), { message: /there is no file/ })
  t.throws(() => serve({ genesis }), { message: /--engine-port/ }, 'a genesis needs a source')
})
