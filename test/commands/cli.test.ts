import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { runHere, runProgram } from '../program.js'
import { once } from '../until.js'

const main = join(packageRoot(), 'dist/src/main.js')

t.test('--version prints the version of the package', async (t) => {
  const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'))
  t.strictSame(await runProgram(['--version']), { status: 0, out: `${version}\n`, err: '' })
})

t.test('the program ends as its commands do', async (t) => {
  for (const line of ['help', 'serv', 'serve --port']) {
    t.strictSame(await runProgram(line.split(' ')), await runHere(line.split(' ')), line)
  }
})

t.test('a faulty configuration is status 2', async (t) => {
  const cwd = t.testdir({ 'tidegate.json': '{"port": "x", "limits": {"batchCalsMax": 1}}' })
  t.strictSame(await runProgram(['serve', '--config', 'tidegate.json'], { cwd }), {
    status: 2,
    out: '',
    err: [
      'tidegate: the configuration tidegate.json has 2 faults; mend what is listed here and start again',
      '  port: expected an integer from 0 to 65535, got "x"',
      '  limits.batchCalsMax: unknown key; did you mean batchCallsMax?',
      '',
    ].join('\n'),
  })
})

t.test('a state that only the operator can mend is status 1', async (t) => {
  const cwd = t.testdir()
  mkdirSync(join(cwd, 'data/live/node'), { recursive: true })
  writeFileSync(join(cwd, 'data/live/node/node.mdb'), 'not a store')
  t.strictSame(await runProgram(['keys', 'create', '--name', 'x'], { cwd }), {
    status: 1,
    out: '',
    err: `tidegate: ${cwd}/data/live/node/node.mdb is not a store of Tidegate, or is damaged; check --data, or move that file away\n`,
  })
})

t.test('a defect is one line and status 1, and shows its stack on demand', async (t) => {
  // No defect is known to test with, so one is put in before the program starts.
  const preload = join(
    t.testdir({ 'defect.mjs': 'JSON.parse = () => { throw new Error("boom\\nat night") }' }),
    'defect.mjs',
  )
  const NODE_OPTIONS = `--import=${preload}`
  t.strictSame(await runProgram(['--version'], { env: { NODE_OPTIONS } }), {
    status: 1,
    out: '',
    err: 'tidegate: internal error: boom; run again with TIDEGATE_DEBUG=1 to see where, and report it\n',
  })
  const { status, err } = await runProgram(['--version'], { env: { NODE_OPTIONS, TIDEGATE_DEBUG: '1' } })
  t.equal(status, 1)
  t.match(err, /^tidegate: internal error: Error: boom\nat night\n {4}at /)
})

t.test('a reader that closes early is no failure', async (t) => {
  const child = spawn(process.execPath, [main, 'help'], { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  const errors: Buffer[] = []
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk))
  const [status] = await once(child, 'close')
  t.equal(status, 0)
  t.equal(Buffer.concat(errors).toString(), '')
})
