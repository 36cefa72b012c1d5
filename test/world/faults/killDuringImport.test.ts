import { spawn } from 'node:child_process'
import { copyFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { ChainWriter } from '../../../src/data/store/chainWriter.js'
import type { HistoryLimits } from '../../../src/data/store/keptHistory.js'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { parseBlock } from '../../../src/sources/ingest/blocks/block.js'
import { parseGenesis } from '../../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../../src/sources/ingest/blocks/importer.js'
import { withoutAmsterdam } from '../../ingest/amsterdam.js'
import { forkBlock, makeAmsterdamReplay } from '../../ingest/amsterdamReplay.js'
import {
  ChainMaker,
  contracts,
  type MadeBlock,
  mergedConfig,
  storeInput,
  testGenesis,
} from '../../ingest/chainMaker.js'
import { skipsOptimism } from '../../ingest/optimismChain.js'
import { makeOptimismReplay } from '../../ingest/optimismServed.js'
import type { PlayedBlock } from '../../ingest/replayedChain.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { oneToKill, propertyRuns } from '../../library/property.js'
import { once } from '../../library/until.js'
import { checkedHead } from '../../store/checkedStore.js'

/** Number of the last block of the chain that is made here. */
const length = 40
/** `KILLS=50` for a longer run: each takes a process that imports the chain, and a check of its store. */
const kills = Number(process.env.KILLS ?? 2)
/** So few kills may all fall into one moment. */
const fewRuns = 4
const mapBytes = 2 ** 30
const threadUrl = new URL('../../../src/sources/ingest/thread/ingestThread.js', import.meta.url).href

/** A moment of an import: some time after a block of this number is on disk; 0 is the genesis. */
interface Moment {
  readonly number: number
  readonly afterMs: number
}

/** Blocks share a transaction for 200 ms. */
const momentsOf = ({ last }: Chain, runs: number) => {
  const { seed = 0 } = propertyRuns(runs)
  const moment = fc.record({ number: fc.nat(last - 1), afterMs: fc.nat(200) })
  return fc.sample(fc.tuple(moment, fc.boolean()), { seed, numRuns: runs })
}

/** Imports in a thread, like the program, and prints the outcome. */
const childSource = `
  import { readFileSync } from 'node:fs'
  import { startIngest } from ${JSON.stringify(threadUrl)}
  const { moment, what } = JSON.parse(process.argv[3])
  const task = JSON.parse(readFileSync(process.argv[2], 'utf8'))
  const doIt = what === 'stop' ? () => thread.stop() : () => process.kill(process.pid, 'SIGKILL')
  let timer
  const onBlock = (number) => {
    if (number >= moment?.number) timer ??= setTimeout(doIt, moment.afterMs).unref()
  }
  const thread = startIngest(task, ({ number }) => onBlock(number))
  thread.opened.then(() => (console.log('opened'), onBlock(0)), () => undefined)
  thread.finished.then(
    ({ stopped }) => console.log(stopped ? 'stopped' : 'finished'),
    (error) => console.log('failed ' + error.name + ' ' + error.message),
  )
`

interface Chain {
  readonly taskPath: string
  readonly storePath: string
  readonly childPath: string
  readonly made: readonly PlayedBlock[]
  /** Number of the last block. */
  readonly last: number
}

/** Blocks of a file, in which one branch replaces another. */
interface FileBlocks {
  readonly genesisText: string
  readonly made: readonly PlayedBlock[]
}

async function makeBlocks(): Promise<FileBlocks> {
  const maker = await ChainMaker.create(testGenesis(mergedConfig(), { difficulty: '0x0' }))
  const plan = (number: number) => ({
    transactions: Array.from({ length: 5 }, (_, index) => ({
      to: contracts.store,
      data: storeInput(BigInt((number * 7 + index) % 40), BigInt(number % 5)),
    })),
  })
  // Further on in the file, another branch replaces blocks 14 to 23.
  const trunk = await maker.extendBy(
    maker.genesis,
    Array.from({ length: 13 }, (_, index) => plan(index)),
  )
  const old = await maker.extendBy(
    trunk[12] as MadeBlock,
    Array.from({ length: 10 }, (_, index) => plan(index + 100)),
  )
  const rest = await maker.extendBy(
    trunk[12] as MadeBlock,
    Array.from({ length: length - 23 }, (_, index) => plan(index + 200)),
  )
  return { genesisText: maker.genesisText, made: [...trunk, ...old, ...rest] }
}

/** The fork is at block `fork`: from the second before it on, eight blocks are replaced. */
const crossing = (make: typeof makeAmsterdamReplay, fork: number) => {
  return async (t: Test): Promise<FileBlocks> => {
    const length = fork + 5
    const reorganisations = [{ after: length, back: 8, blocks: 10 }]
    const options = { length, from: 1, intervalMs: 1, reorganisations }
    const { genesisText, blocks, branches } = await make(t, options)
    return { genesisText, made: [...blocks, ...branches.flat()] }
  }
}

function writeChain(folder: string, { genesisText, made }: FileBlocks, history?: HistoryLimits): Chain {
  const file = join(folder, 'chain.rlp')
  writeFileSync(file, Buffer.concat(made.map(({ rlp }) => rlp)))
  const storePath = join(folder, 'chain.mdb')
  const childPath = join(folder, 'child.mjs')
  writeFileSync(childPath, childSource)
  const genesis = { text: genesisText, path: 'genesis.json' }
  const last = made.at(-1)?.number ?? 0
  const task = { storePath, mapBytes, genesis, files: [file], history }
  return { taskPath: writeInto(folder, 'task.json', task), storePath, childPath, made, last }
}

function removeStore({ storePath }: Pick<Chain, 'storePath'>): void {
  for (const suffix of ['', '-lock']) rmSync(storePath + suffix, { force: true })
}

/** Imports, and stops itself or is killed at a moment. Resolves to its output. */
async function runChild(
  { taskPath, childPath }: Chain,
  what?: 'stop' | 'kill',
  moment?: Moment,
): Promise<string> {
  const child = spawn(process.execPath, [childPath, taskPath, JSON.stringify({ what, moment })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  await once(child, 'close')
  return output
}

// A kill between two commits leaves the file unchanged; other tests kill within a commit.
t.test('after each commit the file holds a whole block', async (t) => {
  const { genesisText, made } = await makeBlocks()
  const [path, storePath] = ['chain.mdb', 'copy.mdb'].map((name) => join(makeFolder(t), name)) as [
    string,
    string,
  ]
  const { identity, blockDiff, schedule } = parseGenesis(genesisText)
  const store = ChainWriter.openForWriting({ path, mapBytes })
  t.teardown(() => store.close())
  store.initialize(identity, blockDiff)
  const importer = new ChainImporter(store, schedule)
  for (const { rlp } of made) {
    await importer.importBlock(parseBlock(rlp))
    copyFileSync(path, storePath)
    const { number, hash } = store.head
    t.strictSame(await checkedHead(t, storePath, made), { number, hash: bytesToHex(hash) })
    removeStore({ storePath })
  }
})

const chains = [
  { name: 'a chain of Prague', skip: false, runs: kills, make: makeBlocks, history: undefined },
  {
    name: 'a chain of which the last blocks are kept',
    skip: false,
    runs: Math.ceil(kills / 5),
    make: makeBlocks,
    // The replaced branch has ten blocks.
    history: { state: 12, receipts: 11, bodies: 14, trie: 13 },
  },
  // A few blocks are enough for its differences.
  {
    name: 'a chain that crosses to Amsterdam',
    skip: withoutAmsterdam,
    runs: Math.ceil(kills / 3),
    make: crossing(makeAmsterdamReplay, forkBlock),
    history: undefined,
  },
  {
    name: 'a chain of the OP Stack that crosses to Isthmus',
    skip: skipsOptimism,
    runs: Math.ceil(kills / 3),
    make: crossing(makeOptimismReplay, 162),
    history: undefined,
  },
] as const

const [plain, ...others] = chains

for (const { name, skip, runs, make, history } of [plain, ...oneToKill(others)]) {
  t.test(name, { skip }, async (t) => {
    // One chain for both tests: it takes longer to make than to import.
    const chain = writeChain(t.testdir(), await make(t), history)
    const headNumber = async (t: Test) => (await checkedHead(t, chain.storePath, chain.made))?.number

    await t.test(
      'a process killed at any moment of an import leaves a whole block and the import goes on',
      async (t) => {
        t.equal(await runChild(chain), 'opened\nfinished\n')
        await headNumber(t)
        const heads: (number | undefined)[] = []
        for (const [index, [moment, startsOver]] of momentsOf(chain, runs).entries()) {
          if (startsOver || index === 0) removeStore(chain)
          // The first is killed before a block is on disk.
          const output = await runChild(chain, 'kill', index === 0 ? { number: 0, afterMs: 0 } : moment)
          t.notMatch(output, /failed/)
          heads.push(await headNumber(t))
        }
        t.comment(`killed at heads ${heads.map((head) => head ?? 'none').join(', ')}`)
        if (runs > fewRuns) t.ok(new Set(heads).size > 1, 'the kills fell into different moments')
        t.equal(await runChild(chain), 'opened\nfinished\n')
        t.equal(await headNumber(t), chain.last)
        t.ok(statSync(chain.storePath).size > 0)
      },
    )

    // The stop is the same for all chains.
    if (name !== plain.name) return
    await t.test('an import stopped by message at any moment ends after a whole block', async (t) => {
      removeStore(chain)
      for (const [moment, startsOver] of momentsOf(chain, Math.ceil(runs / 4))) {
        if (startsOver) removeStore(chain)
        const output = await runChild(chain, 'stop', moment)
        t.match(output, /^opened\n(stopped|finished)\n$/, JSON.stringify(moment))
        await headNumber(t)
      }
      t.equal(await runChild(chain), 'opened\nfinished\n')
      t.equal(await headNumber(t), chain.last)
    })
  })
}
