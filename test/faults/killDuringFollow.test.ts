import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import fc from 'fast-check'
import t from 'tap'
import type { FollowTask } from '../../src/ingest/messages.js'
import { bytesToHex } from '../../src/primitives/bytes.js'
import { ChainReader } from '../../src/store/chainReader.js'
import { anvilGenesis, startAnvil, withoutAnvil } from '../anvilNode.js'
import { checkedHead } from '../checkedStore.js'
import { makeFolder } from '../program.js'
import { propertyRuns } from '../property.js'
import { once, waitFor } from '../until.js'

/** `KILLS=50` for a longer run: each takes a process that follows, and a check of its store. */
const kills = Number(process.env.KILLS ?? 4)
const mapBytes = 2 ** 30
const threadUrl = new URL('../../src/ingest/ingestThread.js', import.meta.url).href

/** Follows in a thread, as the program does, and prints each head and what becomes of it. */
const childSource = `
  import { startIngest } from ${JSON.stringify(threadUrl)}
  const said = (word) => () => console.log(word)
  const thread = startIngest(JSON.parse(process.argv[2]), said('progress'), { onHead: said('head') })
  thread.finished.then(said('finished'), ({ message }) => console.log('failed', message))
`

t.test(
  'a follower killed at any moment holds whole blocks, and continues',
  { skip: withoutAnvil },
  async (t) => {
    const folder = makeFolder(t)
    const anvil = await startAnvil(t, folder)
    const storePath = join(folder, 'chain.mdb')
    const childPath = join(folder, 'child.mjs')
    writeFileSync(childPath, childSource)
    const upstream = { url: anvil.url, timeoutMs: 10_000, answerBytesMax: 2 ** 26 }
    const task: FollowTask = {
      storePath,
      mapBytes,
      genesis: { text: JSON.stringify(anvilGenesis()), path: 'genesis.json' },
      follow: {
        upstreams: [upstream],
        quorum: 1,
        pollMs: 20,
        timeoutMs: 10_000,
        reorgDepthMax: 64,
        revertAfterMs: 2_000,
      },
    }
    const start = () => {
      const child = spawn(process.execPath, [childPath, JSON.stringify(task)], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, NODE_OPTIONS: '' },
      })
      const lines: string[] = []
      createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
      return { child, lines }
    }
    const end = async ({ child }: ReturnType<typeof start>) => {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    await anvil.mine(30)
    const { seed = 0 } = propertyRuns(kills)
    const moment = fc.record({ lines: fc.nat(6), afterMs: fc.nat(30), depth: fc.integer({ min: 1, max: 6 }) })
    for (const { lines, afterMs, depth } of fc.sample(moment, { seed, numRuns: kills })) {
      const run = start()
      let isKilled = false
      const killed = (async () => {
        await waitFor('its heads', () => run.lines.length > lines || run.child.exitCode !== null)
        await new Promise((resolve) => setTimeout(resolve, afterMs))
        isKilled = true
        await end(run)
      })()
      while (!isKilled) {
        await anvil.ask('anvil_mine', ['0x2'])
        await anvil.ask('anvil_reorg', [depth, []])
      }
      await killed
      t.notOk(
        run.lines.some((line) => line.startsWith('failed')),
        run.lines.join(),
      )
      await checkedHead(t, storePath)
    }
    const last = await anvil.mine(1)
    const whole = start()
    const reader = ChainReader.open({ path: storePath })
    await waitFor('the last head', () => {
      reader.refresh()
      return bytesToHex(reader.readHead()?.hash ?? new Uint8Array()) === last.hash
    })
    await reader.close()
    await end(whole)
    t.equal((await checkedHead(t, storePath))?.hash, last.hash)
  },
)
