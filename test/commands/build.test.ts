/** What `npm start` does in a fresh copy of the repository before it serves. */
import { execFile } from 'node:child_process'
import { cpSync, existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { makeFolder } from '../service/program.js'

const run = promisify(execFile)
/** Four times what docs/getting-started.md says. Seconds of the clock say what else the machine does. */
const cpuSecondsMax = 4 * 12

t.test('a fresh copy is built in the promised time, step by step, and only once', async (t) => {
  const copy = makeFolder(t)
  for (const name of [
    'src',
    'workers',
    'build',
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    '.npmrc',
  ]) {
    cpSync(join(packageRoot(), name), join(copy, name), { recursive: true })
  }
  symlinkSync(join(packageRoot(), 'node_modules'), join(copy, 'node_modules'), 'junction')
  // The shell's own times are of what it started.
  const build = () => run('bash', ['-c', 'npm run -s program && times'], { cwd: copy })
  const { stdout, stderr } = await build()
  for (const step of ['the EVM as WebAssembly', 'the program in few files', 'the dashboard']) {
    t.match(stderr, new RegExp(`^  ${step}: \\d+\\.\\d s$`, 'm'))
  }
  const [, times = ''] = stdout.trim().split('\n')
  const seconds = [...times.matchAll(/(\d+)m([\d.]+)s/g)].map(([, m, s]) => Number(m) * 60 + Number(s))
  const cpuSeconds = seconds.reduce((sum, each) => sum + each, 0)
  t.ok(cpuSeconds > 0 && cpuSeconds < cpuSecondsMax, `${cpuSeconds} s of CPU`)
  t.notOk(existsSync(join(copy, 'dist/.tsbuildinfo')), 'types are not checked')
  const { stdout: version } = await run(process.execPath, ['dist/src/main.js', '--version'], { cwd: copy })
  t.match(version, /^\d+\.\d+\.\d+\n$/)
  t.equal((await build()).stderr, '', 'nothing changed')
})
