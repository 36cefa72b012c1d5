/** Commands that read a store for long, interrupted in the middle of a read, beside a writer. */
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { commitSync, openEnvironment, openTable } from '../../../src/data/store/lmdb/environment.js'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { importArchives } from '../../../src/sources/ingest/era/importArchives.js'
import { archivedConfig, makeBlocks, writeArchive } from '../../ingest/eraArchives.js'
import { makeState } from '../../ingest/madeState.js'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { runHere, startProgram, storePathOf } from '../../service/program.js'

/** Number of blocks with which every command reads for far longer than this process needs to notice it. */
const blockCount = 8_192
const accounts = 20_000
const slots = 4
const ballastRows = 64
const ballastBytes = 2 ** 20
const commits = 20

const data = join(makeFolder(t), 'data')

/** The networks `state`, with many accounts, and `blocks`, with many blocks. */
async function makeNetworks(): Promise<void> {
  const folder = makeFolder(t)
  const { genesis, header, state } = makeState(folder, accounts, slots)
  const flags = ['--network', 'state', '--data', data, '--genesis', genesis]
  const { status, err } = await runHere(['import', ...flags, '--header', header, '--state', state])
  if (status !== 0) throw new Error(err)
  const blocks = makeBlocks(blockCount)
  const archive = join(folder, 'blocks-00000-aaaaaaaa.era1')
  writeArchive(archive, blocks)
  const storePath = storePathOf(data, 'blocks')
  mkdirSync(dirname(storePath), { recursive: true })
  const config = JSON.stringify(archivedConfig)
  const genesisHash = bytesToHex(blocks[0]?.hash as Uint8Array)
  const identity = { chainId: '1', networkId: '1', genesisHash, config }
  const task = { storePath, identity, archives: [archive], bytesTotal: 1, accumulators: undefined }
  const { signal } = new AbortController()
  await importArchives({ ...task, mapBytes: 2 ** 40 }, { report: () => undefined, signal })
}

/** Writes to a store as a server does, and looks who reads it. */
function openWriter(network: string) {
  const path = storePathOf(data, network)
  const environment = openEnvironment({ path, readOnly: false })
  t.teardown(() => environment.close())
  const table = openTable(environment, 'ballast')
  const put = (rows: number, bytes: number, fill: number) =>
    commitSync(environment, path, () => {
      for (let row = 0; row < rows; row++) table?.putSync(Buffer.from([row]), Buffer.alloc(bytes, fill))
    })
  put(ballastRows, ballastBytes, 0)
  const readers = () => environment.readerList()
  return {
    write: (fill: number) => put(1, ballastBytes, fill),
    size: () => statSync(path).size,
    /** Processes with a reader slot. */
    pids: () => [...readers().matchAll(/^\s*(\d+) /gm)].map(([, pid]) => Number(pid)),
    /** Processes in the middle of a read. */
    reading: () => [...readers().matchAll(/^\s*(\d+) +\w+ +\d+$/gm)].map(([, pid]) => Number(pid)),
  }
}

type Command = readonly [network: 'state' | 'blocks', words: (to: string) => readonly string[]]

const commands: Readonly<Record<string, Command>> = {
  backup: ['state', (to) => ['backup', join(to, 'copy')]],
  snapshot: ['state', (to) => ['snapshot', join(to, 'copy'), '--network', 'state']],
  'export of blocks': ['blocks', (to) => ['export', '--network', 'blocks', '--out', to]],
  'export of a state': ['state', (to) => ['export', '--network', 'state', '--state', '--out', to]],
  verify: ['state', () => ['verify', '--network', 'state']],
}

const isOf = (pid: number, parent: number) => {
  try {
    return pid === parent || readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[3] === String(parent)
  } catch {
    return false
  }
}

t.test('an interrupted command ends its read, and leaves no file', async (t) => {
  await makeNetworks()
  const writers = { state: openWriter('state'), blocks: openWriter('blocks') }
  for (const [name, [network, words]] of Object.entries(commands)) {
    const { write, size, pids, reading } = writers[network]
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      // A command that ended before the signal is run again.
      await waitFor(`${name} to be interrupted`, async () => {
        const to = makeFolder(t)
        const run = startProgram([...words(to), '--data', data])
        t.teardown(() => run.process.kill('SIGKILL'))
        const pid = run.process.pid as number
        const used = new Set<number>([pid])
        await waitFor(
          `${name} to read`,
          () => {
            for (const each of pids()) if (isOf(each, pid)) used.add(each)
            return run.process.exitCode !== null || reading().some((each) => isOf(each, pid))
          },
          1,
        )
        run.process.kill(signal)
        const { status, err } = await run.finished
        if (status === 0) return false
        t.equal(run.process.signalCode, signal, `${name} ends by ${signal}`)
        t.match(err, /^tidegate: stopped; /m, name)
        t.notOk(
          pids().some((each) => used.has(each)),
          `${name} has no reader slot`,
        )
        t.strictSame(readdirSync(to), [], `${name} leaves no file`)
        return true
      })
    }
    const bytes = size()
    for (let fill = 0; fill < commits; fill++) write(fill)
    const grown = size() - bytes
    // A snapshot that is still read would cost the row of every commit; the first commits take some new pages.
    t.ok(grown < (commits * ballastBytes) / 2, `${commits} commits after ${name} take ${grown} bytes more`)
  }
})
