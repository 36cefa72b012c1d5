/** Stores as earlier versions left them, made from stores of today by moving their rows back. */
import { join } from 'node:path'
import { pack, unpack } from 'msgpackr'
import t, { type Test } from 'tap'
import { upgradeLine, upgradeText } from '../../../src/commands/importProgress.js'
import { startIngest } from '../../../src/ingest/ingestThread.js'
import { concatBytes, type Hash32, toHash32 } from '../../../src/primitives/bytes.js'
import { keccak256 } from '../../../src/primitives/keccak.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { encodeRlp } from '../../../src/primitives/rlp.js'
import type { BlockDiff } from '../../../src/store/blockDiff.js'
import { ChainReader } from '../../../src/store/chainReader.js'
import type { ChainIdentity } from '../../../src/store/chainRows.js'
import { ChainWriter } from '../../../src/store/chainWriter.js'
import { openEnvironment, openTable, type Table } from '../../../src/store/environment.js'
import { StoredBlock } from '../../../src/store/storedBlock.js'
import { type ChainTables, metaKeys, numberKey, openChainTables } from '../../../src/store/tables.js'
import { copyDemoStore, runHere } from '../../service/program.js'
import { takeBackToAddressKeys, takeBackToBlockRows, takeBackToTrieRows } from '../../store/formerLayout.js'
import { differences, dumpStore, type StoreDump } from '../../store/storeDump.js'

const mapBytes = 2 ** 30
const demoChainPath = join(packageRoot(), 'data/devnet/chain.rlp')
/** Of a kind whose rows are rewritten where they are. */
const identity: ChainIdentity = {
  ...{ chainId: '1', networkId: '1', genesisHash: '0x01', config: '{}' },
  gateway: true,
}

function makeBlockDiff(number: number, parentHash: Hash32, salt = 0): BlockDiff {
  const hash = keccak256(concatBytes(parentHash, Uint8Array.of(number, salt)))
  const log = [new Uint8Array(20).fill(number % 3), [parentHash], Uint8Array.of(7)]
  const receipt = encodeRlp([Uint8Array.of(1), Uint8Array.of(1), new Uint8Array(256), [log]])
  return {
    number,
    hash,
    parentHash,
    header: encodeRlp([parentHash, Uint8Array.of(number)]),
    body: encodeRlp([[new Uint8Array(number * 20)], []]),
    senders: concatBytes(hash.subarray(0, 20), hash),
    receipts: encodeRlp([receipt]),
    totalDifficulty: number === 0 ? new Uint8Array(0) : Uint8Array.of(number),
    accounts: [[hash.slice(0, 20), Uint8Array.of(1)]],
    slots: [],
    trie: [],
    code: [],
  }
}

/** Twenty blocks, the last two of which have others beside them. */
async function makeStore(t: Test): Promise<{ path: string; whole: StoreDump }> {
  const path = join(t.testdir(), 'chain.mdb')
  const store = ChainWriter.openForWriting({ path, mapBytes })
  const genesis = makeBlockDiff(0, toHash32(new Uint8Array(32)))
  store.initialize(identity, genesis)
  const blockDiffs = [genesis]
  for (let number = 1; number <= 20; number++)
    blockDiffs.push(makeBlockDiff(number, (blockDiffs.at(-1) as BlockDiff).hash))
  store.apply(0, blockDiffs.slice(1))
  const other = makeBlockDiff(19, (blockDiffs[18] as BlockDiff).hash, 1)
  store.apply(18, [other, makeBlockDiff(20, other.hash, 1)])
  const whole = dumpStore(store)
  await store.close()
  t.equal(Object.keys(whole.sideBlocks).length, 2)
  t.ok(Object.keys(whole.logs).length > 20)
  return { path, whole }
}

type Former = Record<'canonical' | 'headers' | 'senders' | 'totalDifficulties', Table>

/** Moves the rows of blocks from number `from` on, and of all side blocks, to where version 2 had them. */
async function takeBack(path: string, schema: number, from = 0): Promise<void> {
  const environment = openEnvironment({ path, readOnly: false, mapBytes })
  const tables = openChainTables(environment) as ChainTables
  const names = ['canonical', 'headers', 'senders', 'totalDifficulties'] as const
  const former = Object.fromEntries(names.map((name) => [name, openTable(environment, name)])) as Former
  const split = (row: Uint8Array): Uint8Array => {
    const { hash, header, senders, totalDifficulty } = new StoredBlock(row)
    former.headers.putSync(hash, header)
    former.senders.putSync(hash, senders)
    former.totalDifficulties.putSync(hash, totalDifficulty)
    return hash
  }
  for (const { key, value } of [...tables.blocks.getRange()]) {
    if ((key.at(-1) as number) < from) continue
    const hash = split(value)
    former.canonical.putSync(key, hash)
    tables.blocks.removeSync(key)
    tables.numbers.removeSync(hash)
  }
  for (const { key, value } of [...tables.sideBlocks.getRange()]) {
    split(value)
    tables.sideBlocks.removeSync(key)
  }
  if (schema === 1) tables.logs.clearSync()
  const row = unpack(tables.meta.getBinary(metaKeys.identity) as Uint8Array)
  tables.meta.putSync(metaKeys.identity, pack({ ...row, schema }))
  await environment.close()
}

function tableNames(path: string): Promise<string[]> {
  const environment = openEnvironment({ path, readOnly: true, mapBytes })
  const names = [...environment.getKeys()].map((key) => Buffer.from(key as Uint8Array).toString())
  return environment.close().then(() => names.sort())
}

for (const schema of [1, 2]) {
  t.test(
    `a store of version ${schema} is brought up to date by its writer, and says so to readers`,
    async (t) => {
      const { path, whole } = await makeStore(t)
      const names = await tableNames(path)
      await takeBack(path, schema)
      t.throws(() => ChainReader.open({ path, mapBytes }), {
        name: 'OperatorError',
        message: /was made by an earlier version; "tidegate migrate" brings it up to date/,
      })
      await new Promise(setImmediate)
      const told: [string, number][] = []
      const upgraded = ChainWriter.openForWriting({ path, mapBytes, onUpgrade: (...step) => told.push(step) })
      const dump = dumpStore(upgraded)
      t.strictSame(differences(dump, whole), [])
      t.strictSame(dump.sideBlocks, whole.sideBlocks)
      t.strictSame(
        told,
        schema === 1
          ? [
              ['blocks', 1],
              ['index of logs', 1],
            ]
          : [['blocks', 1]],
      )
      await upgraded.close()
      await ChainReader.open({ path, mapBytes }).close()
      t.strictSame(await tableNames(path), names, 'nothing is left of the former tables')
    },
  )
}

t.test('an upgrade that was cut short goes on where it was', async (t) => {
  const { path, whole } = await makeStore(t)
  await takeBack(path, 2, 7)
  const upgraded = ChainWriter.openForWriting({ path, mapBytes })
  t.strictSame(differences(dumpStore(upgraded), whole), [])
  await upgraded.close()
  await takeBack(path, 2, 21)
  await ChainWriter.openForWriting({ path, mapBytes }).close()
  const reader = ChainReader.open({ path, mapBytes })
  t.strictSame(differences(dumpStore(reader), whole), [])
  await reader.close()
})

t.test('an import into an archive of an earlier version says what brings it up to date', async (t) => {
  const path = copyDemoStore(t.testdir(), 'demo')
  await takeBackToBlockRows(path)
  const task = { storePath: path, mapBytes, genesis: undefined, files: [demoChainPath] }
  await t.rejects(startIngest(task, () => undefined).finished, {
    name: 'OperatorError',
    message: /was made by an earlier version; "tidegate migrate" brings it up to date/,
  })
  t.equal(upgradeLine('demo', 'blocks', 1), '{"event":"upgrade","network":"demo","what":"blocks","done":1}')
  t.equal(upgradeText('demo', 'blocks', 1), `demo ${'█'.repeat(24)} 100 %  upgrade of the store: blocks`)
})

t.test('an archive whose past was removed cannot be made anew, which is said', async (t) => {
  const folder = t.testdir()
  const path = copyDemoStore(folder, 'demo')
  await takeBackToBlockRows(path)
  const environment = openEnvironment({ path, readOnly: false, mapBytes })
  const meta = openTable(environment, 'meta') as Table
  meta.putSync(metaKeys.oldestKept, concatBytes(numberKey(9), numberKey(0), numberKey(0)))
  await environment.close()
  t.match(await runHere(['migrate', '--data', folder]), {
    status: 1,
    err: /cannot be brought up to date; import the chain again into an empty folder, with "tidegate import"/,
  })
})

t.test('"tidegate migrate" brings every store of a data folder up to date', async (t) => {
  const folder = t.testdir()
  const names = ['former', 'last', 'latest', 'old', 'older', 'today']
  const paths = names.map((name) => copyDemoStore(folder, name))
  const [former, last, latest, old, older, today] = paths as [string, string, string, string, string, string]
  const before = ChainReader.open({ path: today })
  const whole = dumpStore(before)
  await before.close()
  for (const path of [former, old, older]) await takeBackToBlockRows(path)
  await takeBackToTrieRows(last)
  await takeBackToAddressKeys(latest)
  await takeBack(old, 2)
  await takeBack(older, 1)
  const upgraded =
    'former: upgraded from version 3 to 6\nlast: upgraded from version 4 to 6\nlatest: upgraded from version 5 to 6\n' +
    'old: upgraded from version 2 to 6\nolder: upgraded from version 1 to 6\ntoday: up to date\n'
  t.match(await runHere(['migrate', '--data', folder]), { status: 0, out: upgraded })
  for (const path of paths) {
    const store = ChainReader.open({ path })
    t.strictSame(differences(dumpStore(store), whole), [])
    await store.close()
  }
  const again = names.map((name) => `${name}: up to date\n`).join('')
  t.match(await runHere(['migrate', '--data', folder]), { status: 0, out: again, err: '' })
  t.match(await runHere(['migrate', '--data', t.testdir({ none: {} })]), {
    status: 1,
    err: /^tidegate: there is no store under /,
  })
})

t.test('a store of an earlier version that lacks a row is refused as damaged', async (t) => {
  const { path } = await makeStore(t)
  await takeBack(path, 2)
  const environment = openEnvironment({ path, readOnly: false, mapBytes })
  const senders = openTable(environment, 'senders') as Table
  for (const { key } of senders.getRange({ limit: 1 })) senders.removeSync(key)
  await environment.close()
  t.throws(() => ChainWriter.openForWriting({ path, mapBytes }), {
    name: 'OperatorError',
    message: /is damaged: block 0x[0-9a-f]{64} is not whole/,
  })
})
