import { spawn } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import fc from 'fast-check'
import t from 'tap'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import type { ReplayTask } from '../../../src/sources/ingest/thread/messages.js'
import { playedChains } from '../../ingest/playedChains.js'
import { writeInto } from '../../library/folder.js'
import { propertyRuns } from '../../library/property.js'
import { once } from '../../library/until.js'
import { checkedHead } from '../../store/checkedStore.js'

/** `KILLS=50` for a longer run: each takes a process that plays the chain, and a check of its store. */
const kills = Number(process.env.KILLS ?? 1)
/** So few kills may all fall into one moment. */
const fewRuns = 4
const mapBytes = 2 ** 30
const threadUrl = new URL('../../../src/sources/ingest/thread/ingestThread.js', import.meta.url).href

/** Plays in a thread, like the program, and prints the outcome. */
const childSource = `
  import { readFileSync } from 'node:fs'
  import { startIngest } from ${JSON.stringify(threadUrl)}
  console.log('started')
  const task = JSON.parse(readFileSync(process.argv[2], 'utf8'))
  const thread = startIngest(task, () => undefined, { onHead: () => console.log('head') })
  thread.opened.then(() => console.log('opened'), () => undefined)
  thread.finished.then(() => console.log('finished'), ({ name, message }) => console.log('failed', name, message))
`

/** A moment of a replay: some time after a number of its heads. */
interface Moment {
  readonly heads: number
  readonly afterMs: number
}

/** Resolves to the output without the heads, and to the number of heads. */
async function runChild(
  childPath: string,
  taskPath: string,
  killAt?: Moment,
): Promise<{ output: string; heads: number }> {
  const child = spawn(process.execPath, [childPath, taskPath], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  let output = ''
  let heads = 0
  let timer: NodeJS.Timeout | undefined
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === 'head') heads++
    else output += `${line}\n`
    if (killAt !== undefined && heads >= killAt.heads) {
      timer ??= setTimeout(() => child.kill('SIGKILL'), killAt.afterMs)
    }
  }
  await closed
  clearTimeout(timer)
  return { output, heads }
}

for (const { name, skip, killsOf, make } of playedChains(1).flat()) {
  const title = 'a process killed at any moment of a replay leaves a whole block, and the next plays all'
  t.test(`${title}: ${name}`, { skip }, async (t) => {
    const chain = await make(t, {
      length: 24,
      from: 6,
      intervalMs: 10,
      reorganisations: [
        { after: 10, back: 4, blocks: 6 },
        { after: 12, back: 1, blocks: 1 },
        { after: 18, back: 6, blocks: 3 },
        { after: 22, back: 2, blocks: 5 },
      ],
    })
    const folder = t.testdir()
    const storePath = join(folder, 'chain.mdb')
    const childPath = join(folder, 'child.mjs')
    writeFileSync(childPath, childSource)
    const genesis = { text: chain.genesisText, path: 'genesis.json' }
    const task: ReplayTask = { storePath, mapBytes, genesis, replay: chain.plan }
    const taskPath = writeInto(folder, 'task.json', task)
    const last = bytesToHex(chain.heads.at(-1)?.hash ?? new Uint8Array())
    const known = [...chain.blocks, ...chain.branches.flat()]
    const headOfStore = async () => (await checkedHead(t, storePath, known))?.hash
    const whole = 'started\nopened\nfinished\n'
    const first = await runChild(childPath, taskPath)
    t.equal(first.output, whole)
    t.equal(await headOfStore(), last)
    const numRuns = killsOf(kills)
    const { seed = 0 } = propertyRuns(numRuns)
    const moments = fc.sample(
      fc.tuple(fc.record({ heads: fc.nat(first.heads - 1), afterMs: fc.nat(20) }), fc.nat(4)),
      { seed, numRuns },
    )
    const heads = new Set<string | undefined>()
    for (const [moment, turn] of moments) {
      if (turn === 0) for (const suffix of ['', '-lock']) rmSync(storePath + suffix, { force: true })
      const { output } = await runChild(childPath, taskPath, moment)
      t.notMatch(output, /failed/)
      heads.add(await headOfStore())
    }
    t.comment(`killed at ${heads.size} heads of ${first.heads}`)
    if (numRuns > fewRuns) t.ok(heads.size > 1, 'the kills fell into different moments')
    t.equal((await runChild(childPath, taskPath)).output, whole)
    t.equal(await headOfStore(), last)
  })
}
