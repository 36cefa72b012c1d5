/** Readers of a store that die during a read, and readers in containers, whose processes have the same pid. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { commitSync, openEnvironment, openTable } from '../../../src/data/store/lmdb/environment.js'
import { assertPidIsFree } from '../../../src/data/store/lmdb/readerPids.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { makeFolder } from '../../library/folder.js'
import { once, until } from '../../library/until.js'

const mapBytes = 2 ** 30
const moduleUrl = (name: string) => new URL(`../../../src/data/store/lmdb/${name}.js`, import.meta.url).href

/**
 * Opens a store, reads its first row, prints that, and stays in the middle of that read. On failure it prints the
 * reason.
 */
const readerSource = `
  import { openEnvironment, openTable } from ${JSON.stringify(moduleUrl('environment'))}
  const [path, mode] = process.argv.slice(1)
  try {
    const environment = openEnvironment({ path, readOnly: true, mapBytes: ${mapBytes} })
    for (const {} of openTable(environment, 'rows').getRange()) {
      process.stdout.write('reads')
      if (mode === 'stay') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
      break
    }
  } catch (error) {
    process.stdout.write(error.message)
  }
`

/** Only looks whether the pid is free, which never waits for LMDB. */
const lookSource = `
  import { assertPidIsFree } from ${JSON.stringify(moduleUrl('readerPids'))}
  try {
    assertPidIsFree(process.argv[1], ${mapBytes})
    process.stdout.write('free')
  } catch (error) {
    process.stdout.write(error.message)
  }
`

async function start(t: Test, words: readonly string[]): Promise<{ child: ChildProcess; said: string }> {
  const [program = '', ...rest] = words
  const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const [said] = await once(child.stdout, 'data')
  return { child, said: String(said) }
}

const node = (source: string, ...words: readonly string[]) => [
  process.execPath,
  '--input-type=module',
  '-e',
  source,
  ...words,
]

/** A store with rows enough for several pages. */
function makeStore(t: Test) {
  const path = join(makeFolder(t), 'rows.mdb')
  const environment = openEnvironment({ path, readOnly: false, mapBytes })
  t.teardown(() => environment.close())
  const table = openTable(environment, 'rows')
  const write = (number: number) =>
    commitSync(environment, path, () => {
      for (let row = 0; row < 100; row++) table?.putSync(Buffer.from([row]), Buffer.alloc(1_000, number))
    })
  write(0)
  return { path, environment, write }
}

t.test('a reader that dies in a read keeps no pages of the store for long', async (t) => {
  const { path, environment, write } = makeStore(t)
  const { child, said } = await start(t, node(readerSource, path, 'stay'))
  t.equal(said, 'reads')
  child.kill('SIGKILL')
  await once(child, 'exit')
  let commits = 0
  const isThere = () => new RegExp(`^\\s*${child.pid} `, 'm').test(environment.readerList())
  t.ok(isThere(), 'LMDB alone does not see that it died')
  await until(() => {
    write(++commits)
    return !isThere()
  })
  write(++commits)
  const bytes = statSync(path).size
  for (let more = 0; more < 50; more++) write(++commits)
  t.equal(statSync(path).size, bytes, 'the store uses its pages again')
})

const container = ['unshare', '--pid', '--net', '--fork', '--kill-child', '--mount-proc'] as const
const [unshare, ...flags] = container
const mayUnshare = spawnSync(unshare, [...flags, 'true'], { stdio: 'ignore' }).status === 0
const skip = !mayUnshare && 'this user may not make namespaces'
const taken =
  /is being read by another process whose pid is 1 too, as in two containers .*docker exec.*--pid.*--init/

t.test('of two containers on one store the second is told why it cannot read', { skip }, async (t) => {
  const { path, environment } = makeStore(t)
  const first = await start(t, [...container, ...node(readerSource, path, 'stay')])
  t.equal(first.said, 'reads')
  // A look alone: LMDB itself tries for ten seconds.
  t.match((await start(t, [...container, ...node(lookSource, path)])).said, taken)
  t.match((await start(t, [...container, ...node(readerSource, path, 'end')])).said, taken)
  const neighbour = await start(t, node(readerSource, path, 'end'))
  t.equal(neighbour.said, 'reads', 'a process with another pid reads')
  const closed = once(first.child, 'close')
  first.child.kill('SIGKILL')
  await closed
  t.equal((await start(t, [...container, ...node(lookSource, path)])).said, 'free')
  t.notMatch(environment.readerList(), /^\s*1 /m, 'the slot of the dead one is free, and its pages with it')
  t.equal((await start(t, [...container, ...node(readerSource, path, 'end')])).said, 'reads')
})

t.test(
  'a store that is being made has no readers, also where no program can read its lock file',
  async (t) => {
    const path = join(makeFolder(t), 'rows.mdb')
    writeFileSync(`${path}-lock`, new Uint8Array(68 * 1024))
    const { PATH } = process.env
    process.env.PATH = '/nowhere'
    try {
      for (const isEmpty of [false, true]) {
        if (isEmpty) writeFileSync(path, '')
        t.doesNotThrow(() => assertPidIsFree(path, mapBytes))
      }
      await openEnvironment({ path, readOnly: false, mapBytes }).close()
      t.doesNotThrow(() => assertPidIsFree(path, mapBytes), 'a helper has looked')
    } finally {
      process.env.PATH = PATH
    }
  },
)

t.test('a command in a container beside a server in another one', { skip }, async (t) => {
  const main = join(packageRoot(), 'dist/src/main.js')
  const data = makeFolder(t)
  const words = ['serve', '--data', data, '--port', '0']
  const server = spawn(unshare, [...flags, process.execPath, main, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => server.kill('SIGKILL'))
  let said = ''
  for (const stream of [server.stdout, server.stderr]) {
    stream.on('data', (text) => {
      said += text
    })
  }
  await until(() => /listen/.test(said) || server.exitCode !== null)
  const list = () =>
    spawnSync(unshare, [...flags, process.execPath, main, 'keys', 'list', '--data', data], {
      encoding: 'utf8',
    })
  const refused = list()
  t.equal(refused.status, 1)
  t.match(refused.stderr, taken)
  const closed = once(server, 'close')
  server.kill('SIGKILL')
  await closed
  t.equal(list().status, 0)
})
