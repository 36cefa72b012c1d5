/**
 * An import of a state is killed at any moment. Until the import is complete there is no store, and a server refuses
 * it. The next import completes it.
 */
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { verifyChain } from '../../../src/sources/ingest/verify/verifyChain.js'
import { makeState } from '../../ingest/madeState.js'
import { makeFolder } from '../../library/folder.js'
import { Dice, propertyRuns } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import { blockAt, genesisPath } from '../../rpc/demoChain.js'
import { runHere, startProgram, storePathOf } from '../../service/program.js'
import { startService } from '../../service/service.js'
import { startPaged } from '../../upstream/pagedNode.js'

/** Number of kills of loads and of fetches; `KILLS=50` for more. */
const kills = Number(process.env.KILLS ?? 1)
/** A load takes some 3 s of CPU; for few kills one. */
const accounts = kills > 2 ? 12_000 : 4_000

t.test('a load that is killed leaves no store, and the next one makes it', async (t) => {
  const folder = makeFolder(t)
  const made = makeState(folder, accounts, 12)
  const dice = new Dice(propertyRuns(1).seed as number)
  /** The longest duration of a load so far. */
  let longestMs = accounts / 8
  for (let kill = 0; kill < kills; kill++) {
    const data = join(folder, `data${kill}`)
    const path = storePathOf(data, 'x')
    const words = ['import', '--data', data, '--network', 'x', '--genesis', made.genesis]
    const load = () => startProgram([...words, '--header', made.header, '--state', made.state])
    const killed = load()
    const hasBegun = () => existsSync(join(dirname(path), 'loading')) || existsSync(path)
    await waitFor('the load', () => hasBegun() || killed.process.exitCode !== null)
    const begunMs = performance.now()
    await pause(dice.throw(Math.ceil(longestMs)))
    killed.process.kill('SIGKILL')
    await killed.finished
    if (existsSync(path)) {
      longestMs = Math.min(longestMs, performance.now() - begunMs)
      t.comment(`kill ${kill} came after the load`)
    } else {
      const { status, err } = await runHere(['verify', '--data', data, '--network', 'x'])
      t.equal(status, 2, 'there is no store that could be read')
      t.match(err, /there is no store of network x/)
    }
    const { status, err } = await load().finished
    t.equal(status, 0, err)
    t.notOk(readdirSync(dirname(path)).includes('loading'), 'nothing is left of the load')
    const store = ChainReader.open({ path })
    t.strictSame(verifyChain(store, { blocks: 0, seed: 1, onProgress: () => undefined }).faults, [])
    t.equal([...store.accounts()].length, accounts)
    await store.close()
  }
})

/** Time that a node takes for a page, so that kills come between pages. */
const pageMs = 30

t.test('a fetch of a state that is killed goes on, and ends with the same state', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const node = await startPaged(t, service.origin, async ({ method }, answer) => {
    if (/Range/.test(method)) await pause(pageMs)
    return answer
  })
  const folder = makeFolder(t)
  const dice = new Dice(propertyRuns(1).seed as number)
  let longestMs = 1_000
  for (let kill = 0; kill < kills; kill++) {
    const data = join(folder, `data${kill}`)
    const path = storePathOf(data, 'x')
    const fetched = join(dirname(storePathOf(data, 'x')), 'fetched.jsonl')
    const load = () =>
      startProgram([
        ...['import', '--data', data, '--network', 'x', '--genesis', genesisPath, '--state-from', node.url],
        ...['--hash', blockAt(200).hash, '--total-difficulty', `${blockAt(200).totalDifficulty}`],
      ])
    const killed = load()
    await waitFor('the fetch', () => existsSync(fetched) || killed.process.exitCode !== null)
    const begunMs = performance.now()
    await pause(dice.throw(Math.ceil(longestMs)))
    killed.process.kill('SIGKILL')
    await killed.finished
    if (existsSync(path)) longestMs = Math.min(longestMs, performance.now() - begunMs)
    const { status, err } = await load().finished
    t.equal(status, 0, err)
    t.strictSame(
      readdirSync(dirname(path)).filter((name) => /^(fetched|loading)/.test(name)),
      [],
    )
    const store = ChainReader.open({ path })
    t.strictSame(verifyChain(store, { blocks: 0, seed: 1, onProgress: () => undefined }).faults, [])
    await store.close()
  }
})
