import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { ReplayTask } from '../../src/ingest/messages.js'
import { verifyChain } from '../../src/ingest/verifyChain.js'
import { bytesToHex } from '../../src/primitives/bytes.js'
import { ChainWriter } from '../../src/store/chainWriter.js'
import { propertyRuns } from '../property.js'
import { makeReplayedChain, type ReplayedChain } from '../replayedChain.js'

const kills = 15
const mapBytes = 2 ** 30
const threadUrl = new URL('../../src/ingest/ingestThread.js', import.meta.url).href

/** Plays in a thread, as the program does, and prints what becomes of it. */
const childSource = `
  import { startIngest } from ${JSON.stringify(threadUrl)}
  const thread = startIngest(JSON.parse(process.argv[2]), () => undefined)
  thread.finished.then(() => console.log('finished'), ({ name, message }) => console.log('failed', name, message))
`

async function runChild(childPath: string, task: ReplayTask, killAfterMs?: number): Promise<string> {
  const child = spawn(process.execPath, [childPath, JSON.stringify(task)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const timer = killAfterMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfterMs)
  await once(child, 'close')
  clearTimeout(timer)
  return output
}

/** The head of a store, every block and state of which was checked; undefined before its genesis. */
async function checkStore(t: Test, storePath: string, chain: ReplayedChain): Promise<string | undefined> {
  const store = ChainWriter.openForWriting({ path: storePath, mapBytes })
  try {
    const head = store.readHead()
    if (head === undefined) return undefined
    const { faults } = verifyChain(store, { blocks: 3, seed: head.number, onProgress: () => undefined })
    t.strictSame(faults, [], `no fault at block ${head.number}`)
    const known = [...chain.blocks, ...chain.branches.flat()].some(
      ({ hash }) => bytesToHex(hash) === bytesToHex(head.hash),
    )
    t.ok(head.number === 0 || known, 'the head is a block of the replay')
    return bytesToHex(head.hash)
  } finally {
    await store.close()
  }
}

t.test(
  'a process killed at any moment of a replay leaves a whole block, and the next plays all',
  async (t) => {
    const chain = await makeReplayedChain(t, {
      length: 40,
      from: 8,
      intervalMs: 1,
      reorganisations: [
        { after: 12, back: 4, blocks: 6 },
        { after: 15, back: 1, blocks: 1 },
        { after: 25, back: 6, blocks: 3 },
        { after: 33, back: 2, blocks: 5 },
      ],
    })
    const folder = t.testdir()
    const storePath = join(folder, 'chain.mdb')
    const childPath = join(folder, 'child.mjs')
    writeFileSync(childPath, childSource)
    const genesis = { text: chain.genesisText, path: 'genesis.json' }
    const task: ReplayTask = { storePath, mapBytes, genesis, replay: chain.plan }
    const last = bytesToHex(chain.heads.at(-1)?.hash ?? new Uint8Array())
    // How long a whole replay takes, so that the kills fall into it.
    const start = performance.now()
    t.equal(await runChild(childPath, task), 'finished\n')
    const wholeMs = performance.now() - start
    t.equal(await checkStore(t, storePath, chain), last)
    const { seed = 0 } = propertyRuns(kills)
    const moments = fc.sample(fc.tuple(fc.double({ min: 0.2, max: 1, noNaN: true }), fc.nat(3)), {
      seed,
      numRuns: kills,
    })
    const heads = new Set<string | undefined>()
    for (const [share, turn] of moments) {
      if (turn === 0) for (const suffix of ['', '-lock']) rmSync(storePath + suffix, { force: true })
      const output = await runChild(childPath, task, share * wholeMs)
      t.notMatch(output, /failed/)
      heads.add(await checkStore(t, storePath, chain))
    }
    t.comment(`killed at ${heads.size} heads; a replay takes ${Math.round(wholeMs)} ms`)
    t.ok(heads.size > 2, 'the kills fell into different moments')
    t.equal(await runChild(childPath, task), 'finished\n')
    t.equal(await checkStore(t, storePath, chain), last)
  },
)
