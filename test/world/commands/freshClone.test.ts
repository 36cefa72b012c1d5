// @scene a clone, as a newcomer runs it
/** Runs `npm start` and `npm run tidegate` in a fresh copy of the repository, also after an unclean end. */
import { execFile, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { makeFolder } from '../../library/folder.js'
import { inTime, once, waitFor } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { post } from '../../service/httpClient.js'

const run = promisify(execFile)

/** All that git has, but documents and tests. */
const copied = [
  'src',
  'workers',
  'build',
  'data/devnet',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  '.npmrc',
]

/** A copy in a folder whose name has a blank and a letter that is not ASCII. */
function makeCopy(t: Test): string {
  const copy = join(makeFolder(t), 'my clöne')
  mkdirSync(join(copy, 'data'), { recursive: true })
  for (const name of copied) cpSync(join(packageRoot(), name), join(copy, name), { recursive: true })
  symlinkSync(join(packageRoot(), 'node_modules'), join(copy, 'node_modules'), 'junction')
  return copy
}

/** A command of the terminal: npm, its shell and the program are one group of processes, which gets Ctrl-C together. */
function inTerminal(t: Test, cwd: string, words: readonly string[]) {
  const child = spawn('npm', words, { cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const said = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.err += text
  })
  const signal = (name: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), name)
  }
  t.teardown(() => signal('SIGKILL'))
  return { child, said, signal, ended: once(child, 'close') }
}

interface Running {
  readonly url: string
  call(path: string, method: string, params: unknown): Promise<{ result?: unknown; error?: unknown }>
  end(...signals: NodeJS.Signals[]): Promise<void>
}

async function start(t: Test, copy: string): Promise<Running> {
  const { child, said, signal, ended } = inTerminal(t, copy, ['start', '--', '--port', '0'])
  const url = await waitFor('the server to listen', () => {
    if (child.exitCode !== null) throw new Error(`npm start ended: ${said.out}${said.err}`)
    return said.out.includes('Try it:') && /demo: chain id 8433.* (http:\S+)$/m.exec(said.out)?.[1]
  })
  return {
    url,
    async call(path, method, params) {
      const address = url.replace('/v3/', `${path}/v3/`)
      const { text } = await post(address, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
      return JSON.parse(text)
    },
    async end(...signals) {
      for (const name of signals) signal(name)
      await ended
    },
  }
}

const tidegate = (copy: string, ...words: string[]) =>
  run('npm', ['run', '-s', 'tidegate', '--', ...words], { cwd: copy })

/** Every signal by which a person, the system or a fault of the program ends it. */
const ends: readonly (readonly NodeJS.Signals[])[] = [
  ['SIGKILL'],
  ['SIGINT', 'SIGINT'],
  ['SIGSEGV'],
  ['SIGABRT'],
  ['SIGTERM'],
]

const copy = makeCopy(t)

t.test('a fresh copy is built once, and goes on after every end with what it acknowledged', async (t) => {
  const { stderr } = await run('npm', ['run', '-s', 'program'], { cwd: copy })
  for (const step of ['the EVM as WebAssembly', 'the program in few files', 'the dashboard']) {
    t.match(stderr, new RegExp(`^  ${step}: \\d+\\.\\d s$`, 'm'))
  }
  t.equal((await run('npm', ['run', '-s', 'program'], { cwd: copy })).stderr, '', 'nothing changed')
  t.notOk(existsSync(join(copy, 'dist/modules')), 'it has the program alone')

  const hashes: string[] = []
  let head = 0
  for (const [at, signals] of [...ends, ['SIGTERM'] as const].entries()) {
    const server = await start(t, copy)
    for (const hash of hashes) {
      const status = await server.call('/rollup', 'rollupx_getTransactionStatus', [hash])
      t.match(status.result, { queue_status: String }, 'an acknowledged submission is there')
    }
    const found = Number((await server.call('', 'eth_blockNumber', [])).result)
    t.ok(found >= head, `head ${found} is not below ${head}, which was served`)
    const submission = { invoke_transaction: makeTransaction(7, at) }
    const { result } = await server.call('/rollup', 'rollupx_addInvokeTransaction', submission)
    const { transaction_hash: hash } = result as { transaction_hash: string }
    t.match(hash, /^0x[0-9a-f]+$/)
    hashes.push(hash)
    head = await waitFor('a new block', async () => {
      const number = Number((await server.call('', 'eth_blockNumber', [])).result)
      return number > found && number
    })
    await server.end(...signals)
    t.pass(`ended by ${signals.join(' and ')}`)
  }
  const { stdout } = await tidegate(copy, 'verify', '--network', 'demo')
  t.match(stdout, /No fault found\./, 'verify')
})

t.test(
  'a second server is refused by the name of the first, and an import that was killed goes on',
  async (t) => {
    const server = await start(t, copy)
    const refused = await tidegate(copy, 'serve', '--port', '0').then(
      () => undefined,
      (error: { code: number; stderr: string }) => error,
    )
    t.equal(refused?.code, 1)
    t.match(
      refused?.stderr,
      /is being written by process \d+, which was started at 20\d\d-.*Z; stop that process/,
    )
    await server.end('SIGTERM')

    const words = [
      'import',
      '--network',
      'again',
      '--genesis',
      'data/devnet/genesis.json',
      'data/devnet/chain.rlp',
    ]
    const first = inTerminal(t, copy, ['run', '-s', 'tidegate', '--', ...words])
    await waitFor('the import to write', () => existsSync(join(copy, 'data/live/networks/again/chain.mdb')))
    first.signal('SIGKILL')
    await inTime('the import to end', first.ended)
    const { stdout: imported } = await tidegate(copy, ...words)
    t.match(imported, /Done: again is at block 264/)
    const { stdout } = await tidegate(copy, 'verify', '--network', 'again')
    t.match(stdout, /No fault found\./)
  },
)
