// @shares
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  makeBlocks,
  sepoliaArchive,
  storedBlocks,
  withoutSepolia,
  writeArchive,
} from '../../ingest/eraArchives.js'
import { makeFolder } from '../../library/folder.js'
import { chainPath, genesisPath, headBlock } from '../../rpc/demoChain.js'
import { fixtureDir } from '../../service/fixtures.js'
import { runHere } from '../../service/program.js'
import { demoStore } from '../../unit/execution/evm/demoExecution.js'

t.test('an archive of Sepolia comes out as it went in', { skip: withoutSepolia }, async (t) => {
  const folder = makeFolder(t)
  const words = ['--network', 'sepolia', '--data', folder]
  t.equal((await runHere(['import', ...words, sepoliaArchive])).status, 0)
  const out = join(folder, 'out')
  const exported = await runHere(['export', ...words, '--out', out])
  t.equal(exported.status, 0)
  t.match(exported.out, /sepolia-00021-b8814b14.era1: blocks 172032 to 180223/)
  t.strictSame(readdirSync(out), ['sepolia-00021-b8814b14.era1'])
  t.ok(readFileSync(join(out, 'sepolia-00021-b8814b14.era1')).equals(readFileSync(sepoliaArchive)))
  const again = await runHere(['export', ...words, '--out', out])
  t.equal(again.status, 1)
  t.match(again.err, 'exists already')
  const amid = await runHere(['export', ...words, '--from', '172033', '--out', out])
  t.match(amid, { status: 2, err: /the first one of an epoch, a multiple of 8192 such as 172032/ })
  const beyond = await runHere(['export', ...words, '--to', '180224', '--out', out])
  t.match(beyond, {
    status: 2,
    err: /blocks 172032 to 180224 are not all there; sepolia has 172032 to 180223/,
  })
})

t.test('a whole epoch is an archive, and what follows it a chain file', async (t) => {
  const folder = makeFolder(t)
  const archive = join(folder, 'demo-00000-aaaaaaaa.era1')
  writeArchive(archive, storedBlocks(demoStore))
  const words = ['--network', 'old', '--data', folder]
  const imported = await runHere(['import', ...words, '--genesis', genesisPath, archive])
  t.match(imported, { status: 0, out: /begins with the genesis/ })
  const exported = await runHere(['export', ...words, '--out', join(folder, 'out')])
  t.equal(exported.status, 0)
  const [name = ''] = readdirSync(join(folder, 'out'))
  t.match(name, /^old-00000-[0-9a-f]{8}.era1$/)
  t.ok(readFileSync(join(folder, 'out', name)).equals(readFileSync(archive)))
  const chain = await runHere(['import', ...words, chainPath])
  t.match(chain, {
    status: 1,
    err: /is of a network of kind history, in which no blocks are executed; import/,
  })
})

t.test('blocks that were executed here are exported as a chain file that can be imported', async (t) => {
  const folder = makeFolder(t)
  const words = ['--network', 'demo', '--data', fixtureDir]
  const { status, out } = await runHere(['export', ...words, '--out', folder])
  t.equal(status, 0)
  t.match(out, `demo-0-${headBlock.number}.rlp: blocks 0 to ${headBlock.number}`)
  const written = readFileSync(join(folder, `demo-0-${headBlock.number}.rlp`))
  const chain = readFileSync(chainPath)
  t.ok(written.subarray(written.length - chain.length).equals(chain), 'the genesis block comes before')
})

t.test('archives and chain files are not taken for each other', async (t) => {
  const folder = makeFolder(t)
  const archive = join(folder, 'toy.era1')
  writeArchive(archive, makeBlocks(10, 8_192))
  const words = ['import', '--data', folder, '--network']
  t.match(await runHere([...words, 'toy', archive, chainPath]), { status: 2, err: /is no archive/ })
  t.match(await runHere([...words, 'toy', archive]), {
    status: 2,
    err: /none of those known here \(mainnet, /,
  })
  t.match(await runHere([...words, 'toy', '--accumulators', chainPath, chainPath]), {
    status: 2,
    err: /--accumulators is for archives/,
  })
})
