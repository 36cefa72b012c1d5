/** The source of go-ethereum's program, with a script in place of Go: a real build takes minutes. */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { gethProgram, gethVersion, whyNoGeth } from '../../../bench/servers/geth.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'

const { GETH: usualGeth, PATH: usualPath, TIDEGATE_BENCH_CACHE: usualCache } = process.env
const set = (name: string, value: string | undefined) => {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}
t.afterEach(() => {
  set('GETH', usualGeth)
  set('PATH', usualPath)
  set('TIDEGATE_BENCH_CACHE', usualCache)
})

/** A machine with this script as `go`, or without one, and an empty cache; its folder. */
function machine(t: Test, go?: string): string {
  const folder = t.testdir()
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  if (go !== undefined) writeFileSync(join(bin, 'go'), `#!/bin/sh\n${go}`, { mode: 0o755 })
  set('GETH', undefined)
  set('PATH', bin)
  set('TIDEGATE_BENCH_CACHE', join(folder, 'cache'))
  return folder
}

t.test('go builds the pinned version once, and what it built is kept', async (t) => {
  const folder = machine(
    t,
    `echo "$@" >> "${t.testdirName}/asked"\n[ "$1" = version ] || echo > "$GOBIN/geth"\n`,
  )
  t.equal(whyNoGeth(), undefined)
  const program = await gethProgram()
  t.equal(program, join(folder, 'cache/geth-v1.17.10/geth'))
  t.ok(existsSync(program))
  t.equal(await gethProgram(), program)
  const asked = readFileSync(join(folder, 'asked'), 'utf8')
  t.equal(asked, 'version\ninstall github.com/ethereum/go-ethereum/cmd/geth@v1.17.10\n')
  set('PATH', '/nowhere')
  t.equal(whyNoGeth(), undefined, 'the kept one needs no go')
})

t.test('a build that fails leaves nothing behind', async (t) => {
  const folder = machine(t, 'exit 3\n')
  await t.rejects(gethProgram(), { message: /^go install \S+@v1\.17\.10 ended with 3$/ })
  t.same(readdirSync(join(folder, 'cache')), [])
})

t.test('GETH names a program, which must be there', async (t) => {
  const folder = machine(t)
  const program = join(folder, 'geth')
  set('GETH', program)
  t.throws(() => whyNoGeth(), { name: 'RangeError', message: `GETH: there is no file ${program}` })
  writeFileSync(program, '#!/bin/sh\necho Geth\necho "Version: 1.17.10-stable"\n')
  chmodSync(program, 0o755)
  t.equal(whyNoGeth(), undefined)
  t.equal(await gethProgram(), program)
  t.equal(gethVersion(program), '1.17.10-stable')
})

t.test('without go a check says what it leaves out, and a comparison that was asked for fails', async (t) => {
  machine(t)
  t.match(whyNoGeth(), /no go to build it/)
  const run = (...words: readonly string[]) => {
    const program = join(packageRoot(), 'dist/modules/bench/main.js')
    return spawnSync(process.execPath, [program, ...words], { encoding: 'utf8' })
  }
  const check = run('--check', '--list')
  t.match(check, {
    status: 0,
    stderr: /^What is compared with go-ethereum is left out: this machine has no go /,
  })
  t.match(check.stdout, /^slot-cached: /)
  t.notMatch(check.stdout, /^geth-/m)
  t.match(run('--against', 'geth', '--list'), { status: 2, stderr: /^--against: this machine has no go / })
})
