// @shares
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { makeFolder } from '../../library/folder.js'
import { once } from '../../library/until.js'
import { genesisPath, headBlock } from '../../rpc/demoChain.js'
import { copyDemoStore, runHere, startProgram, storePathOf, writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'
import { onSmallDisk, withoutSmallDisk } from '../../store/smallDisk.js'
import { differences, dumpStore } from '../../store/storeDump.js'

/** A data folder with the demo chain as `tides`, and an API key. */
async function makeData(t: Test): Promise<{ folder: string; data: string; backup: string; key: string }> {
  const folder = makeFolder(t)
  const data = join(folder, 'data')
  copyDemoStore(data, 'tides')
  const { out } = await runHere(['keys', 'create', '--name', 'first', '--data', data])
  return { folder, data, backup: join(folder, 'backup'), key: out.trim() }
}

async function makeBackup(t: Test) {
  const made = await makeData(t)
  t.match(await runHere(['backup', made.backup, '--data', made.data]), { status: 0 })
  return { ...made, restored: join(made.folder, 'restored') }
}

/** Paths of all files below a folder. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort()
}

t.test(
  'a backup holds every store, the secrets and a manifest, and a restored one is the same',
  async (t) => {
    const { data, backup, restored, key } = await makeBackup(t)
    t.strictSame(filesIn(backup), [
      'manifest.json',
      'networks/tides/chain.mdb',
      'node/node.mdb',
      'node/pepper',
    ])
    t.equal(statSync(backup).mode & 0o777, 0o700)
    t.equal(statSync(join(backup, 'node/pepper')).mode & 0o777, 0o600)
    const { files, ...manifest } = JSON.parse(readFileSync(join(backup, 'manifest.json'), 'utf8'))
    t.match(manifest, {
      format: 1,
      madeBy: /^\d+\.\d+\.\d+/,
      chains: { tides: { head: { number: headBlock.number, hash: headBlock.hash } } },
    })
    t.strictSame(files.map(({ path }: { path: string }) => path).sort(), filesIn(backup).slice(1))

    const { status, out } = await runHere(['restore', backup, '--data', restored])
    t.equal(status, 0)
    t.match(out, `networks/tides/chain.mdb: `)
    t.match(out, `block ${headBlock.number} ${headBlock.hash}`)
    t.strictSame(filesIn(restored), ['networks/tides/chain.mdb', 'node/node.mdb', 'node/pepper'])
    const [before, after] = [data, restored].map((folder) =>
      ChainReader.open({ path: storePathOf(folder, 'tides') }),
    )
    t.teardown(() => Promise.all([before?.close(), after?.close()]))
    t.strictSame(differences(dumpStore(after as ChainReader), dumpStore(before as ChainReader)), [])
    t.match(await runHere(['verify', '--data', restored, '--blocks', '1']), {
      status: 0,
      out: /No fault found/,
    })

    const config = writeConfig(restored, {
      dataDir: '.',
      networks: [{ name: 'tides', genesis: genesisPath }],
    })
    const service = await startService(['--config', config])
    t.teardown(() => service.stop())
    const { text } = await service.post(`/v3/${key}`, '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}')
    t.match(JSON.parse(text), { result: `0x${headBlock.number.toString(16)}` }, 'the key still opens')
  },
)

t.test('nothing is overwritten, by a backup or by a restoration', async (t) => {
  const { data, backup, restored } = await makeBackup(t)
  t.match(await runHere(['backup', backup, '--data', data]), { status: 1, err: /backup is not empty/ })
  t.match(await runHere(['restore', backup, '--data', data]), { status: 1, err: /data is not empty/ })
  mkdirSync(restored)
  const links = ['empty', 'dangling'].map((name) => join(data, name))
  symlinkSync(restored, links[0] as string)
  symlinkSync(join(data, 'nowhere'), links[1] as string)
  for (const link of links) {
    const err = /is a symbolic link, to which a folder cannot be renamed; name the folder/
    t.match(await runHere(['restore', backup, '--data', link]), { status: 1, err })
  }
  t.match(
    await runHere(['restore', backup, '--data', restored]),
    { status: 0 },
    'an empty folder may be there',
  )
})

t.test('a data folder without a store is named', async (t) => {
  const folder = makeFolder(t)
  const words = ['backup', join(folder, 'backup'), '--data', join(folder, 'data')]
  t.match(await runHere(words), { status: 1, err: /^tidegate: there is no store under \S+; check --data\n$/ })
  t.strictSame(readdirSync(folder), [])
})

const damages: readonly (readonly [how: string, damage: (backup: string) => void, message: RegExp])[] = [
  [
    'without its manifest',
    (backup) => rmSync(join(backup, 'manifest.json')),
    /there is no manifest\.json in/,
  ],
  [
    'with half a manifest',
    (backup) => writeFileSync(join(backup, 'manifest.json'), '{"format":1'),
    /manifest\.json is damaged, or was made by a newer version/,
  ],
  [
    'with a manifest of another format',
    (backup) => change(backup, (text) => text.replace('"format": 1', '"format": 2')),
    /manifest\.json is damaged, or was made by a newer version/,
  ],
  [
    'with a manifest that leads out of its folder',
    (backup) => change(backup, (text) => text.replace('node/pepper', 'node/../../secret')),
    /manifest\.json is damaged/,
  ],
  [
    'with a store of a newer version',
    (backup) => change(backup, (text) => text.replace(/"schema": \d+/, '"schema": 99')),
    /network tides has schema 99, and this version of tidegate reads 6/,
  ],
  ['without a store', (backup) => rmSync(storePathOf(backup, 'tides')), /chain\.mdb is missing/],
  [
    'with a longer file',
    (backup) => appendFileSync(join(backup, 'node/pepper'), 'x'),
    /pepper is of another length/,
  ],
  [
    'with a changed byte',
    (backup) => {
      const path = storePathOf(backup, 'tides')
      const bytes = readFileSync(path)
      const middle = bytes.length >> 1
      bytes[middle] = (bytes[middle] as number) ^ 1
      writeFileSync(path, bytes)
    },
    /chain\.mdb is not the one of the manifest/,
  ],
]

function change(backup: string, edit: (text: string) => string): void {
  const path = join(backup, 'manifest.json')
  writeFileSync(path, edit(readFileSync(path, 'utf8')))
}

t.test('a damaged backup is refused, and leaves nothing behind', async (t) => {
  const { backup, restored, folder } = await makeBackup(t)
  const whole = filesIn(backup).map((path) => [path, readFileSync(join(backup, path))] as const)
  for (const [how, damage, message] of damages) {
    damage(backup)
    const { status, err } = await runHere(['restore', backup, '--data', restored])
    t.equal(status, 1, how)
    t.match(err, message, how)
    t.strictSame(readdirSync(folder).sort(), ['backup', 'data'], how)
    for (const [path, bytes] of whole) writeFileSync(join(backup, path), bytes)
  }
  t.match(await runHere(['restore', backup, '--data', restored]), { status: 0 })
})

t.test('what a killed run left is named', async (t) => {
  const { data, backup, folder } = await makeData(t)
  mkdirSync(`${backup}.unfinished`)
  t.match(await runHere(['backup', backup, '--data', data]), {
    status: 1,
    err: /backup\.unfinished belongs to a copy that is running or was killed; if none is running, remove it/,
  })
  t.strictSame(readdirSync(folder).sort(), ['backup.unfinished', 'data'])
})

t.test('an interrupted backup leaves nothing', async (t) => {
  const { data, backup } = await makeData(t)
  // A long file that is still read: it takes no blocks on the disk.
  writeFileSync(join(data, 'node/admin-token'), new Uint8Array(0), { mode: 0o600 })
  const { truncateSync } = await import('node:fs')
  truncateSync(join(data, 'node/admin-token'), 2 ** 31)
  const run = startProgram(['backup', backup, '--data', data])
  t.teardown(() => run.process.kill('SIGKILL'))
  const exit = once(run.process, 'exit')
  while (!existsSync(join(`${backup}.unfinished`, 'node/admin-token'))) await new Promise(setImmediate)
  run.process.kill('SIGINT')
  t.strictSame(await exit, [null, 'SIGINT'])
  t.match((await run.finished).err, /stopped; nothing was kept/)
  t.notOk(existsSync(`${backup}.unfinished`))
  t.notOk(existsSync(backup))
})

t.test('a disk without room is refused before anything is copied', { skip: withoutSmallDisk }, async (t) => {
  const { data, backup } = await makeBackup(t)
  await onSmallDisk(t, 1_024, async ({ folder }) => {
    for (const words of [
      ['backup', join(folder, 'backup'), '--data', data],
      ['restore', backup, '--data', join(folder, 'data')],
    ]) {
      const { status, err } = await runHere(words)
      t.equal(status, 1)
      t.match(err, /^tidegate: the copy may take \d+ MiB, and \S+ has room for \d+; free some space/)
    }
    t.match(await runHere(['backup', folder, '--data', data]), { status: 1, err: /is a disk of its own/ })
    t.strictSame(readdirSync(folder), [])
  })
})
