// @shares
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { commandLinesOf, commandsPagePaths, renderCommandsPage } from '../../../../build/commandsPages.js'
import { runHere } from '../../../service/program.js'

const commands = [
  'serve',
  'dev',
  'import',
  'export',
  'keys create',
  'keys set',
  'keys show',
  'keys list',
  'keys rotate',
  'keys jwt',
  'keys revoke',
  'keys share',
  'usage',
  'audit',
  'verify',
  'backup',
  'snapshot',
  'restore',
  'config',
  'slot',
  'help',
  'version',
]

t.test('help lists every command, also as --help and -h', async (t) => {
  const { status, out, err } = await runHere(['help'])
  t.equal(status, 0)
  t.equal(err, '')
  for (const command of commands) t.match(out, new RegExp(`^ {2}${command} {2,}\\S`, 'm'))
  for (const words of [[], ['--help'], ['-h']]) t.strictSame(await runHere(words), { status, out, err })
})

t.test('every command explains itself, in lines that fit a terminal', async (t) => {
  for (const command of commands) {
    const words = command.split(' ')
    const { status, out, err } = await runHere([...words, '--help'])
    t.equal(status, 0, command)
    t.equal(err, '')
    t.ok(out.startsWith(`Usage: tidegate ${command}`), command)
    t.match(out, /\n\nExamples:\n {2}tidegate /)
    for (const line of out.split('\n')) if (line.length > 90) t.fail(`${command}: ${line}`)
    t.equal((await runHere(['help', ...words])).out, out)
  }
})

t.test('help of a command shows each flag with its default', async (t) => {
  const { out } = await runHere(['verify', '--help'])
  t.equal(
    out,
    `Usage: tidegate verify [flags]

Checks that the stored chain is whole and that the state of randomly chosen blocks leads
to the state roots in their headers. Changes nothing, and may run beside a server. Ends
with status 1 if anything is wrong.

Flags:
  --config FILE   configuration file (JSON); flags override it
  --data DIR      folder of all stores (default data/live under the current folder)
  --network NAME  network to check; may be left out if there is only one
  --blocks N      blocks whose state is compared, beside the head (default 8)
  --seed N        number from which the blocks are chosen, to repeat a run (default
                  another in each run)

Examples:
  tidegate verify
      the only network of the data folder
  tidegate verify --network mychain --blocks 100 --seed 7
      100 blocks, the same ones each time
`,
  )
})

t.test(
  'the documentation has the help of every command as it is printed; npm run docs writes it',
  async (t) => {
    const pages = commandsPagePaths.map((path) => readFileSync(path, 'utf8'))
    t.strictSame(
      pages.flatMap(commandLinesOf).sort(),
      ['help', ...commands.filter((name) => name !== 'help').map((name) => `${name} --help`)].sort(),
    )
    for (const page of pages) t.equal(await renderCommandsPage(page), page, 'run: npm run docs')
    const old = pages[0]?.replace('answer JSON-RPC requests', 'answer questions') ?? ''
    t.not(old, pages[0])
    t.equal(await renderCommandsPage(old), pages[0])
    await t.rejects(
      renderCommandsPage('```console\n$ tidegate frobnicate\n```'),
      /unknown command "frobnicate"/,
    )
  },
)

t.test('wrong usage is one sentence on standard error, and status 2', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['serv', 'unknown command "serv"; did you mean serve?'],
    ['frobnicate', 'unknown command "frobnicate"; see: tidegate help'],
    ['help frobnicate', 'unknown command "frobnicate"; see: tidegate help'],
    ['kyes list', 'unknown command "kyes"; did you mean keys?'],
    ['keys', 'name what to do with keys: create, set, show, list, rotate, jwt, revoke, share'],
    ['keys creat --name x', 'unknown command "keys creat"; did you mean keys create?'],
    [
      'keys frobnicate',
      'unknown command "keys frobnicate"; choose one of create, set, show, list, rotate, jwt, revoke, share',
    ],
    ['--versoin', 'unknown flag --versoin before a command; did you mean --version?'],
    [
      '--data x serve',
      'unknown flag --data before a command; flags stand after the command, see: tidegate help',
    ],
    ['serve --prot 1', 'unknown flag --prot for serve; did you mean --port?'],
    ['serve --frobnicate', 'unknown flag --frobnicate for serve; see: tidegate serve --help'],
    ['serve -p 1', 'unknown flag -p for serve; see: tidegate serve --help'],
    ['serve --constructor', 'unknown flag --constructor for serve; see: tidegate serve --help'],
    ['serve --port', '--port needs a value; write --port PORT'],
    ['serve --port --no-auth', '--port needs a value; write --port PORT'],
    ['serve --port 8x', '--port: expected an integer from 0 to 65535, got "8x"'],
    ['serve --port=65536', '--port: expected an integer from 0 to 65535, got "65536"'],
    ['serve --port=-1', '--port: expected an integer from 0 to 65535, got "-1"'],
    ['serve --port 1 --port 2', '--port is given twice; give it once'],
    ['serve --host=', '--host: expected a value that is not empty, got ""'],
    ['serve --no-auth=yes', '--no-auth takes no value; write --no-auth alone'],
    ['serve now', 'serve takes no arguments besides its flags; write tidegate serve [flags]'],
    [
      'serve --log-level loud',
      '--log-level: expected one of trace, debug, info, warn, error, silent, got "loud"',
    ],
    [
      'serve --no-auth --host 0.0.0.0',
      'without API keys only this machine may be served: listen on 127.0.0.1, ::1 or localhost instead of 0.0.0.0, or leave auth on',
    ],
    [
      'import --network n --beacon http://b --header h package.json --genesis package.json',
      '--header is of the block of a state; name that with --state FILE or --state-from URL',
    ],
    [
      'import --network n --state package.json',
      '--state needs the header of its block, and those of the 256 before it: --header FILE, or --state-from URL',
    ],
    [
      'import --network n --state package.json --state-from http://a',
      '--state does not name its block; name it with --hash HASH or --header FILE',
    ],
    [
      'import --network n --state package.json --header package.json --beacon http://b',
      '--beacon names the signed block, and a node has the blocks before it; add --state-from URL',
    ],
    [
      'import --network n --state-from http://a --state-from http://a',
      '--state-from names one URL twice, and a node counts once; leave one out',
    ],
    ['import', 'import needs CHAIN, --state or --state-from; write tidegate import [flags] [CHAIN...]'],
    ['import chain.rlp', 'name the network with --network NAME'],
    ['keys create', 'keys create needs --name NAME; see: tidegate keys create --help'],
    ['keys revoke', 'keys revoke needs KEY; write tidegate keys revoke [flags] KEY'],
    [
      'keys revoke 1 2',
      'keys revoke takes only one argument besides its flags; write tidegate keys revoke [flags] KEY',
    ],
  ]
  for (const [line, sentence] of cases) {
    t.strictSame(await runHere(line.split(' ')), { status: 2, out: '', err: `tidegate: ${sentence}\n` }, line)
  }
})

t.test('a mistyped URL of a node is shown without what may be a key', async (t) => {
  const wrong: readonly (readonly [string, string])[] = [
    ['htps://user:SECRET@rpc.example.org/v3/SECRET', 'htps://rpc.example.org/…'],
    ['htps://rpc.example.org:8545?key=SECRET', 'htps://rpc.example.org:8545/…'],
    ['ftp://127.0.0.1:8545/', 'ftp://127.0.0.1:8545/'],
    ['htps://us:SEC/RET@rpc.example.org', '…'],
    ['rpc.example.org/v3/SECRET', '…'],
    ['htps:/rpc.example.org/SECRET', '…'],
    ['SECRET', '…'],
  ]
  for (const [url, shown] of wrong) {
    t.strictSame(await runHere(['serve', '--network', 'x', '--upstream', url]), {
      status: 2,
      out: '',
      err: `tidegate: --upstream: expected a URL of http, https, ws or wss, got "${shown}"\n`,
    })
    const { err } = await runHere(['serve', '--network', 'x', '--follow', url])
    t.notMatch(err, /SEC|RET/)
  }
})

t.test('config prints what the file and the flags come to, without secrets', async (t) => {
  const url = 'https://user:SECRET@rpc.example.org/v3/SECRET'
  const upstreams = [{ url, socketUrl: 'wss://rpc.example.org/SECRET', headers: { authorization: 'SECRET' } }]
  const networks = [
    { name: 'gate', kind: 'gateway', upstreams },
    { name: 'roll', kind: 'rollup', chainId: 'X', upstream: { url } },
  ]
  const folder = t.testdir({ 'tidegate.json': JSON.stringify({ port: 1, dataDir: 'stores', networks }) })
  const file = join(folder, 'tidegate.json')
  const { status, out, err } = await runHere(['config', '--config', file, '--port', '7', '--edges', '2'])
  t.strictSame({ status, err }, { status: 0, err: '' })
  t.notMatch(out, 'SECRET')
  const shown = 'https://rpc.example.org/…'
  const merged = JSON.parse(out)
  t.match(merged, { host: '127.0.0.1', port: 7, edges: 2, auth: true, dataDir: join(folder, 'stores') })
  t.match(merged.networks, [
    {
      upstreams: [
        {
          url: shown,
          socketUrl: 'wss://rpc.example.org/…',
          headers: { authorization: '…' },
          timeoutMs: 5_000,
        },
      ],
    },
    { prefix: 'rollupx', upstream: { url: shown } },
  ])
  t.match(await runHere(['config', '--config', join(folder, 'none.json')]), { status: 2, out: '' })
})

t.test('what config prints is a file that means the same, and fits its schema', async (t) => {
  const { out } = await runHere(['config', '--log-level', 'warn'])
  const file = join(t.testdir({ 'tidegate.json': out }), 'tidegate.json')
  t.equal((await runHere(['config', '--config', file])).out, out)
  const schema = JSON.parse((await runHere(['config', '--schema'])).out)
  const isValid = new Ajv2020({ strict: false, validateFormats: false }).compile(schema)
  t.ok(isValid(JSON.parse(out)), JSON.stringify(isValid.errors))
  t.ok(isValid({}))
  const gateway = (...upstreams: unknown[]) => ({ networks: [{ name: 'x', kind: 'gateway', upstreams }] })
  t.ok(isValid({ admin: false, ...gateway('http://x', { url: 'ws://x' }) }), 'short forms')
  t.notOk(isValid({ admin: true }))
  t.notOk(isValid(gateway(1)))
  t.notOk(isValid({ prot: 1 }))
  t.notOk(isValid({ port: 'x' }))
})

t.test('what looks like a key never reaches an error message', async (t) => {
  const key = `tg_${'a'.repeat(49)}`
  for (const words of [
    [key],
    ['keys', key],
    ['serve', `--${key}`],
    ['serve', '--port', key],
    ['verify', '--config', key],
  ]) {
    const { status, err, out } = await runHere(words)
    t.equal(status, 2)
    t.equal(`${err}${out}`.includes('aaaa'), false, err)
  }
})
