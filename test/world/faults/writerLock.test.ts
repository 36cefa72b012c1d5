/**
 * The lock of a store's writer: it is taken as long as its process lives, even if other processes cannot see that
 * process.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { lockForWriting } from '../../../src/data/store/lmdb/writerLock.js'
import { makeFolder } from '../../library/folder.js'
import { inTime, once } from '../../library/until.js'

const moduleUrl = new URL('../../../src/data/store/lmdb/writerLock.js', import.meta.url).href

/** Takes the lock and stays; prints that, or the reason of the failure. */
const holderSource = `
  import { lockForWriting } from ${JSON.stringify(moduleUrl)}
  try {
    lockForWriting(process.argv[1])
    console.log('got')
    process.stdin.resume()
  } catch (error) {
    console.log(error.message)
  }
`

/** Starts a process that takes a lock, by the command of another program. Resolves to its output. */
async function startHolder(
  t: Test,
  path: string,
  before: readonly string[] = [],
): Promise<{ child: ChildProcess; said: string }> {
  const [program = '', ...words] = [
    ...before,
    process.execPath,
    '--input-type=module',
    '-e',
    holderSource,
    path,
  ]
  const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const [said] = await once(child.stdout, 'data')
  return { child, said: String(said).trim() }
}

t.test('a lock is held while its process lives, also one that is stopped', async (t) => {
  const path = join(makeFolder(t), 'chain.mdb')
  const { child, said } = await startHolder(t, path)
  t.equal(said, 'got')
  child.kill('SIGSTOP')
  t.throws(() => lockForWriting(path), {
    name: 'OperatorError',
    message: new RegExp(
      `^the store \\S+ is being written by process ${child.pid}, which was started at 20\\S+Z; stop that process or use another data folder$`,
    ),
  })
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.ok(existsSync(`${path}.writer`), 'what it wrote stays')
  const lock = lockForWriting(path)
  t.throws(() => lockForWriting(path), { message: new RegExp(`is being written by process ${process.pid},`) })
  lock.release()
  t.strictSame(readdirSync(join(path, '..')), [], 'nothing is left')
})

t.test('a lock without its process is taken over, whoever has its number and its host name', async (t) => {
  const path = join(makeFolder(t), 'chain.mdb')
  for (const holder of [`${process.pid} ${hostname()} 0123456789abcdef\n`, '1 another-host\n', '']) {
    writeFileSync(`${path}.writer`, holder)
    lockForWriting(path).release()
    t.equal(existsSync(`${path}.writer`), false, holder)
  }
})

t.test(
  'a path that is longer than that of a socket may be',
  { skip: process.platform !== 'linux' && '/proc/self/fd is of Linux' },
  async (t) => {
    const folder = join(makeFolder(t), 'long'.repeat(30))
    mkdirSync(folder)
    const path = join(folder, 'chain.mdb')
    const lock = lockForWriting(path)
    t.match((await startHolder(t, path)).said, /is being written by process/)
    lock.release()
    t.strictSame(readdirSync(folder), [])
    t.equal((await startHolder(t, path)).said, 'got')
  },
)

// Its own process ids, so that both have number 1, and its own network, to which abstract sockets do not cross.
const container = ['unshare', '--pid', '--net', '--fork', '--kill-child'] as const
const [unshare, ...flags] = container
const mayUnshare = spawnSync(unshare, [...flags, 'true'], { stdio: 'ignore' }).status === 0
const noNamespaces = !mayUnshare && 'this user may not make namespaces'

t.test(
  'processes that do not see each other, such as those of two containers',
  { skip: noNamespaces },
  async (t) => {
    const path = join(makeFolder(t), 'chain.mdb')
    const first = await startHolder(t, path, container)
    t.equal(first.said, 'got')
    t.match((await startHolder(t, path, container)).said, /is being written by process 1, which/)
    t.throws(() => lockForWriting(path), { message: /is being written by process 1, which/ })
    // The parent ends first. Its child ends at once, too, and then the pipe that both have open is closed.
    const closed = once(first.child, 'close')
    first.child.kill('SIGKILL')
    await closed
    t.equal((await startHolder(t, path, container)).said, 'got')
  },
)

t.test('of many processes that find the same stale lock at once, one gets it', async (t) => {
  const folder = t.testdir()
  const source = `
    import { lockForWriting } from ${JSON.stringify(new URL('../../../src/data/store/lmdb/writerLock.js', import.meta.url).href)}
    import { once } from 'node:events'
    process.stdin.setEncoding('utf8')
    process.stdin.on('data', (text) => {
      for (const path of text.trim().split('\\n')) {
        try { lockForWriting(path); console.log('got') } catch (error) { console.log('refused ' + error.name) }
      }
    })
    console.log('ready')
  `
  const children = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', source], {
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  )
  t.teardown(() => {
    for (const child of children) child.kill('SIGKILL')
  })
  const outputs = children.map((child) => {
    const output = { lines: [] as string[], waiting: () => {} }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output.lines.push(...text.trim().split('\n'))
      output.waiting()
    })
    return output
  })
  const linesOf = async (output: (typeof outputs)[number], count: number) => {
    while (output.lines.length < count) {
      const woken = new Promise<void>((resolve) => {
        output.waiting = resolve
      })
      await inTime('a line of a process that takes locks', woken)
    }
    return output.lines.splice(0, count)
  }
  for (const output of outputs) await linesOf(output, 1)
  const gone = spawn(process.execPath, ['-e', ''])
  await once(gone, 'exit')
  const rounds = 10
  const paths = Array.from({ length: rounds }, (_, round) => {
    const path = join(folder, `${round}.mdb`)
    writeFileSync(`${path}.writer`, `${gone.pid} ${hostname()} 0123456789abcdef\n`)
    return path
  })
  for (const child of children) child.stdin.write(`${paths.join('\n')}\n`)
  const results: string[][] = []
  for (const output of outputs) results.push(await linesOf(output, rounds))
  const winners = paths.map((_, round) => results.filter((lines) => lines[round] === 'got').length)
  t.ok(
    winners.every((count) => count <= 1),
    `at most one winner each: ${winners.filter((count) => count > 1).length} of ${rounds} had more`,
  )
  t.ok(
    winners.every((count) => count === 1),
    'and one at least',
  )
  t.notOk(results.flat().some((line) => line !== 'got' && line !== 'refused OperatorError'))
})
