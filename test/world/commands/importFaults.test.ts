// @shares
import { existsSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { RLP } from '@ethereumjs/rlp'
import t from 'tap'
import { mapBytesDefault } from '../../../src/data/store/lmdb/environment.js'
import { importFiles } from '../../../src/sources/ingest/blocks/importFiles.js'
import {
  chainOf,
  checkFailure,
  checkRefused,
  flagsOf,
  headOf,
  importHere,
  importInto,
  network,
} from '../../commands/importing.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { genesisPath } from '../../rpc/demoChain.js'
import { runHere, runProgram, storePathOf } from '../../service/program.js'

t.test('an empty file, garbage and text are refused, and name the byte', async (t) => {
  const folder = makeFolder(t)
  const garbage = writeInto(folder, 'garbage.rlp', Buffer.from('garbage'))
  checkFailure(t, await importInto(folder, [garbage], runProgram), /garbage\.rlp: no block at byte 0/)
  const cases: [name: string, content: Uint8Array | string, message: RegExp][] = [
    ['empty.rlp', '', /empty\.rlp: the file is empty/],
    ['text.rlp', 'hello, this is no chain', /text\.rlp: no block at byte 0: expected an RLP list/],
    ['zeros.rlp', new Uint8Array(1000), /zeros\.rlp: no block at byte 0/],
    [
      'huge.rlp',
      Uint8Array.of(0xfb, 0xff, 0xff, 0xff, 0xff, 1, 2),
      /huge\.rlp: no block at byte 0: .*more than/,
    ],
    ['genesis.json', readFileSync(genesisPath), /genesis\.json: no block at byte 0/],
    ['cut.gz', gzipSync(chainOf(1, 1)).subarray(0, -10), /cut\.gz: /],
  ]
  for (const [name, content, message] of cases) {
    await t.test(name, (t) => checkRefused(t, folder, writeInto(folder, name, content), message))
  }
  t.equal(await headOf(folder), 0, 'the store is sound')
})

t.test("a list that is no block is refused as the file's fault, and names the byte", async (t) => {
  const folder = makeFolder(t)
  for (const [name, list] of [
    ['lists.rlp', [[], [], []]],
    ['bytes.rlp', [Uint8Array.of(1)]],
    ['nothing.rlp', []],
  ] as const) {
    const file = writeInto(folder, name, RLP.encode(list as never))
    await checkRefused(t, folder, file, new RegExp(`${name}: at byte 0: .*not a block`))
  }
})

t.test('a file that is cut short names the byte, and the blocks before it are kept', async (t) => {
  const folder = makeFolder(t)
  const whole = chainOf(1, 6)
  const lastStart = chainOf(1, 5).length
  const file = writeInto(folder, 'cut.rlp', whole.subarray(0, whole.length - 10))
  await checkRefused(
    t,
    folder,
    file,
    new RegExp(
      `cut\\.rlp: the block at byte ${lastStart} is cut short; the file ends at byte ${whole.length - 10}`,
    ),
  )
  t.equal(await headOf(folder), 5)
})

t.test('garbage after good blocks names the byte, and the blocks before it are kept', async (t) => {
  const folder = makeFolder(t)
  const good = chainOf(1, 3)
  const file = writeInto(folder, 'tail.rlp', Buffer.concat([good, Buffer.from('garbage')]))
  await checkRefused(t, folder, file, new RegExp(`tail\\.rlp: no block at byte ${good.length}`))
  t.equal(await headOf(folder), 3)
})

t.test('a chain of another genesis is refused', async (t) => {
  const folder = makeFolder(t)
  const genesis = JSON.parse(readFileSync(genesisPath, 'utf8'))
  const other = writeInto(folder, 'other.json', { ...genesis, extraData: '0x1234' })
  const file = writeInto(folder, 'chain.rlp', chainOf(1, 2))
  const outcome = await runHere(['import', ...flagsOf(folder), '--genesis', other, file])
  checkFailure(
    t,
    outcome,
    /block 1 \(0x[0-9a-f]{64}\).* its parent 0x[0-9a-f]{64} is not this network's genesis/,
  )
  t.match(outcome.err, /chain\.rlp: at byte 0/)
})

t.test('another genesis for a store that has one is refused', async (t) => {
  const folder = makeFolder(t)
  const genesis = JSON.parse(readFileSync(genesisPath, 'utf8'))
  const other = writeInto(folder, 'other.json', { ...genesis, extraData: '0x1234' })
  const file = writeInto(folder, 'chain.rlp', chainOf(1, 2))
  await importHere(folder, [file])
  const outcome = await runHere(['import', ...flagsOf(folder), '--genesis', other, file])
  checkFailure(t, outcome, /genesis|chain/)
  t.equal(await headOf(folder), 2)
})

t.test('a genesis that is none is refused', async (t) => {
  const folder = makeFolder(t)
  const file = writeInto(folder, 'chain.rlp', chainOf(1, 2))
  for (const content of ['', '{', '[]', '{}', '{"config":{}}']) {
    const genesis = writeInto(folder, 'genesis.json', content)
    await checkRefused(t, folder, file, /the genesis \S+genesis\.json is not usable: /, genesis)
  }
})

t.test('a network without a store needs a genesis', async (t) => {
  const folder = makeFolder(t)
  const file = writeInto(folder, 'chain.rlp', chainOf(1, 2))
  const { status, err, out } = await runHere(['import', ...flagsOf(folder), file])
  t.equal(status, 2)
  t.equal(out, '')
  t.match(
    err,
    /^tidegate: network tides has no store under \S+ yet; name its genesis with --genesis FILE[^\n]*\n$/,
  )
  t.notOk(existsSync(`${folder}/networks`), 'nothing is made')
})

t.test('a file that does not exist is named before anything is made', async (t) => {
  const folder = makeFolder(t)
  const missing = `${folder}/missing.rlp`
  const { status, err } = await runHere(['import', ...flagsOf(folder), '--genesis', genesisPath, missing])
  t.equal(status, 2)
  t.match(err, /^tidegate: there is no file \S+missing\.rlp/)
  t.notOk(existsSync(`${folder}/networks`))
})

t.test('a folder given for a chain file is refused', async (t) => {
  const folder = makeFolder(t)
  await checkRefused(t, folder, folder, /EISDIR|folder|directory/)
})

t.test(
  'a chain of another id than the configuration says is refused, by its genesis and by its store',
  async (t) => {
    const folder = makeFolder(t)
    const file = writeInto(folder, 'chain.rlp', chainOf(1, 2))
    const configure = (chainId: number) => {
      const config = { networks: [{ name: network, chainId, genesis: genesisPath }] }
      return writeInto(folder, `chain${chainId}.json`, JSON.stringify(config))
    }
    const importBy = (config: string) =>
      runHere(['import', '--config', config, '--network', network, '--data', folder, file])
    const refusal = /is of chain id \d+, the configuration says 99; correct one of them/
    checkFailure(t, await importBy(configure(99)), refusal)
    t.notOk(existsSync(storePathOf(folder, network)), 'no store is made')
    const { config } = JSON.parse(readFileSync(genesisPath, 'utf8')) as { config: { chainId: number } }
    const right = await importBy(configure(config.chainId))
    t.equal(right.status, 0, right.err)
    const task = { storePath: storePathOf(folder, network), mapBytes: mapBytesDefault, files: [file] }
    const ofStore = importFiles(
      { ...task, genesis: undefined, chainId: 99 },
      { report: () => undefined, signal: new AbortController().signal },
    )
    await t.rejects(ofStore, { name: 'OperatorError', message: refusal })
    t.equal(await headOf(folder), 2)
  },
)
