// @shares
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { once, waitFor } from '../../library/until.js'
import { genesisPath } from '../../rpc/demoChain.js'
import { get } from '../../service/httpClient.js'
import { freePort } from '../../service/ports.js'
import { type Outcome, runHere, runProgram } from '../../service/program.js'

const main = join(packageRoot(), 'dist/src/main.js')

const nobody = 65_534

/** Only root may run a program as another user, who has access to less: perhaps not even to this folder. */
function findOtherUser(): string | false {
  if (process.getuid?.() !== 0) return 'not root, so there is no other user to run as'
  const user = { uid: nobody, gid: nobody, cwd: '/' }
  const { status } = spawnSync(process.execPath, [main, '--version'], user)
  return status === 0 ? false : `another user cannot enter ${packageRoot()}`
}
const noOtherUser = findOtherUser()

const noFullDevice = !existsSync('/dev/full') && 'there is no /dev/full'

async function runAsNobody(words: readonly string[], cwd: string): Promise<Outcome> {
  const child = spawn(process.execPath, [main, ...words], { cwd, uid: nobody, gid: nobody })
  const [out, err] = [child.stdout, child.stderr].map((stream) => text(stream)) as [
    Promise<string>,
    Promise<string>,
  ]
  const [status] = await once(child, 'close')
  return { status, out: await out, err: await err }
}

t.test('version, --version and -v print the version of the package', async (t) => {
  const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'))
  for (const word of ['version', '--version', '-v']) {
    t.strictSame(await runProgram([word]), { status: 0, out: `${version}\n`, err: '' })
  }
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
      'tidegate: the configuration tidegate.json has 2 faults; correct the faults below and start again',
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

t.test('a data folder that cannot be made ends every command at once, with a sentence', async (t) => {
  const cwd = t.testdir({ file: 'x', chain: '' })
  // Linux refuses folders in /proc with an error that some programs take for a missing parent.
  const folders = process.platform === 'linux' ? ['file/data', '/proc/none/data'] : ['file/data']
  for (const data of folders) {
    for (const line of [
      'serve --port 0',
      'keys create --name x',
      `import --network x --genesis ${genesisPath} chain`,
    ]) {
      const { status, out, err } = await runProgram([...line.split(' '), '--data', data], { cwd })
      t.strictSame({ status, out }, { status: 1, out: '' }, line)
      t.match(err, /^tidegate: [^\n]*cannot make the folder [^\n]*; check the path and its permissions\n$/)
    }
  }
})

t.test('what may not be read is not taken for absent', { skip: noOtherUser }, async (t) => {
  const cwd = t.testdir({ data: { node: { 'node.mdb': '' } }, 'genesis.json': '{}' })
  chmodSync(join(cwd, 'data'), 0o700)
  chmodSync(cwd, 0o755)
  for (const line of [
    'keys list',
    'keys revoke 3f9a1c0be27d',
    'verify',
    'verify --network x',
    'serve --network x --port 0',
    'import --network x --genesis data/genesis.json data/chain',
  ]) {
    const { status, out, err } = await runAsNobody([...line.split(' '), '--data', join(cwd, 'data')], cwd)
    t.strictSame({ status, out }, { status: 1, out: '' }, line)
    t.match(err, /^tidegate: cannot read [^\n]*\(EACCES\); run as the user who owns it[^\n]*\n$/)
  }
})

t.test('a defect is one line and status 1, and shows its stack on demand', async (t) => {
  // No real defect is known, so the test inserts one before the program starts.
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

t.test(
  'output that a full disk does not take is told, and nothing else ends with it',
  { skip: noFullDevice },
  async (t) => {
    const full = openSync('/dev/full', 'w')
    t.teardown(() => closeSync(full))
    const cwd = t.testdir()
    const start = (...words: string[]) =>
      spawn(process.execPath, [main, ...words], { cwd, stdio: ['ignore', full, 'pipe'] })
    const lost = 'tidegate: cannot write to standard output (ENOSPC); the rest of the output is lost\n'

    const help = start('help')
    const said = text(help.stderr as Readable)
    t.strictSame(await once(help, 'close'), [1, null])
    t.equal(await said, lost)

    const port = await freePort()
    const server = start('serve', '--no-auth', '--port', String(port), '--log-level', 'silent')
    t.teardown(() => server.kill('SIGKILL'))
    let reported = ''
    server.stderr?.on('data', (chunk) => {
      reported += chunk
    })
    await waitFor('what it says', () => reported.includes(lost))
    await waitFor('it to listen', () =>
      get(`http://127.0.0.1:${port}/health`).then(
        ({ status }) => status === 200,
        () => false,
      ),
    )
    // The server still runs, and stops in order; its status reports the loss.
    server.kill('SIGTERM')
    t.strictSame(await once(server, 'close'), [1, null])
  },
)
