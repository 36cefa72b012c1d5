// @scene a follow
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import type { FollowTask } from '../../../src/sources/ingest/thread/messages.js'
import { withoutAmsterdam } from '../../ingest/amsterdam.js'
import { forkBlock, makeAmsterdamReplay } from '../../ingest/amsterdamReplay.js'
import { skipsOptimism } from '../../ingest/optimismChain.js'
import { makeOptimismReplay } from '../../ingest/optimismServed.js'
import { Steps } from '../../ingest/steppedReplay.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { oneToKill, propertyRuns } from '../../library/property.js'
import { once, waitFor } from '../../library/until.js'
import { checkedHead } from '../../store/checkedStore.js'
import { anvilGenesis, startAnvil, withoutAnvil } from '../../upstream/anvilNode.js'

/** `KILLS=50` makes a longer run: each kill takes a process that follows, and a check of its store. */
const kills = Number(process.env.KILLS ?? 1)
const mapBytes = 2 ** 30
const threadUrl = new URL('../../../src/sources/ingest/thread/ingestThread.js', import.meta.url).href

/** Follows in a thread, like the program, and prints each head and the outcome. */
const childSource = `
  import { readFileSync } from 'node:fs'
  import { startIngest } from ${JSON.stringify(threadUrl)}
  const said = (word) => () => console.log(word)
  const thread = startIngest(JSON.parse(readFileSync(process.argv[2], 'utf8')), said('progress'), { onHead: said('head') })
  thread.finished.then(said('finished'), ({ message }) => console.log('failed', message))
`

/** A node whose chain moves when the test decides. */
interface MovingNode {
  readonly url: string
  readonly genesisText: string
  /** Adds some blocks, or replaces some. `reported` resolves once a follower has sent a message since. */
  move(depth: number, reported: () => Promise<unknown>): Promise<unknown>
  /** Hash of the head, which stays. */
  end(): Promise<string>
}

async function startMovingAnvil(t: Test): Promise<MovingNode> {
  const anvil = await startAnvil(t, makeFolder(t))
  await anvil.mine(30)
  return {
    url: anvil.url,
    genesisText: JSON.stringify(anvilGenesis()),
    async move(depth) {
      await anvil.ask('anvil_mine', ['0x2'])
      await anvil.ask('anvil_reorg', [depth, []])
    },
    end: async () => (await anvil.mine(1)).hash,
  }
}

/** Crosses to another fork with its block `fork`, back and again. */
async function startCrossing(
  t: Test,
  kills: number,
  fork: number,
  make: typeof makeAmsterdamReplay,
): Promise<MovingNode> {
  const before = fork - 1
  // The chain is long enough for the lines that are awaited before each kill.
  const length = Math.min(before + 5 + 6 * kills, before + 190)
  const reorganisations = Array.from({ length: Math.floor((length - before) / 4) + 1 }, (_, index) => ({
    after: before + 4 * index,
    back: 3,
    blocks: 4,
  }))
  const chain = await make(t, { length, from: before - 3, intervalMs: 1, reorganisations })
  const steps = await Steps.listen(t)
  const service = await chain.start(steps.env())
  t.teardown(() => service.stop())
  return {
    url: service.origin,
    genesisText: chain.genesisText,
    async move(_depth, reported) {
      await steps.next()
      await reported()
    },
    async end() {
      await steps.next(chain.heads.length)
      return bytesToHex(chain.heads.at(-1)?.hash ?? new Uint8Array())
    },
  }
}

const nodes = [
  { name: 'anvil', skip: withoutAnvil, runs: kills, startNode: startMovingAnvil, history: undefined },
  {
    name: 'a node that crosses to Amsterdam',
    skip: withoutAmsterdam,
    runs: Math.ceil(kills / 2),
    startNode: (t: Test, kills: number) => startCrossing(t, kills, forkBlock, makeAmsterdamReplay),
    // A replaced branch has three blocks.
    history: { state: 6, receipts: 4, bodies: 8, trie: 5 },
  },
  {
    // Each kill plays some six blocks towards Fjord and Granite.
    name: 'a node of the OP Stack that crosses to Ecotone',
    skip: skipsOptimism,
    runs: Math.ceil(kills / 2),
    startNode: (t: Test, kills: number) => startCrossing(t, kills, 48, makeOptimismReplay),
    history: undefined,
  },
] as const

for (const { name, skip, runs, startNode, history } of oneToKill(nodes)) {
  t.test(
    `a follower killed at any moment holds whole blocks, and continues: ${name}`,
    { skip },
    async (t) => {
      const folder = makeFolder(t)
      const node = await startNode(t, runs)
      const storePath = join(folder, 'chain.mdb')
      const childPath = join(folder, 'child.mjs')
      writeFileSync(childPath, childSource)
      const upstream = { url: node.url, timeoutMs: 10_000, answerBytesMax: 2 ** 26 }
      const task: FollowTask = {
        storePath,
        mapBytes,
        genesis: { text: node.genesisText, path: 'genesis.json' },
        ...(history && { history }),
        follow: {
          upstreams: [upstream],
          quorum: 1,
          pollMs: 20,
          timeoutMs: 10_000,
          reorgDepthMax: 64,
          revertAfterMs: 2_000,
        },
      }
      const taskPath = writeInto(folder, 'task.json', task)
      const start = () => {
        const child = spawn(process.execPath, [childPath, taskPath], {
          stdio: ['ignore', 'pipe', 'inherit'],
        })
        const lines: string[] = []
        createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
        return { child, lines }
      }
      const end = async ({ child }: ReturnType<typeof start>) => {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
      const { seed = 0 } = propertyRuns(runs)
      const moment = fc.record({
        lines: fc.nat(6),
        afterMs: fc.nat(30),
        depth: fc.integer({ min: 1, max: 6 }),
      })
      for (const { lines, afterMs, depth } of fc.sample(moment, { seed, numRuns: runs })) {
        const run = start()
        let isKilled = false
        const killed = (async () => {
          await waitFor('its heads', () => run.lines.length > lines || run.child.exitCode !== null)
          await new Promise((resolve) => setTimeout(resolve, afterMs))
          isKilled = true
          await end(run)
        })()
        while (!isKilled) {
          const said = run.lines.length
          await node.move(depth, () => waitFor('more lines', () => isKilled || run.lines.length > said))
        }
        await killed
        t.notOk(
          run.lines.some((line) => line.startsWith('failed')),
          run.lines.join(),
        )
        await checkedHead(t, storePath)
      }
      const last = await node.end()
      const whole = start()
      const reader = ChainReader.open({ path: storePath })
      await waitFor('the last head', () => {
        reader.refresh()
        return bytesToHex(reader.readHead()?.hash ?? new Uint8Array()) === last
      })
      await reader.close()
      await end(whole)
      const head = await checkedHead(t, storePath)
      t.equal(head?.hash, last)
      const kept = ChainReader.open({ path: storePath })
      const oldest = kept.readOldestKept().state
      // The next commits remove more history.
      const isCut = history !== undefined && oldest > 0 && oldest <= (head?.number ?? 0) - history.state
      t.ok(history === undefined ? oldest === 0 : isCut, `the oldest state is that of block ${oldest}`)
      await kept.close()
    },
  )
}
