/**
 * An import of a state that is killed at any moment: there is no store until it is whole, a server takes none, and the next
 * import makes it.
 */
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { ChainReader } from '../../src/data/store/chainReader.js'
import { verifyChain } from '../../src/sources/ingest/verifyChain.js'
import { makeState } from '../ingest/madeState.js'
import { Dice, propertyRuns } from '../library/property.js'
import { waitFor } from '../library/until.js'
import { makeFolder, runHere, startProgram, storePathOf } from '../service/program.js'

/** `KILLS=50` for as many. */
const kills = Number(process.env.KILLS ?? 2)
/** A load takes some 3 s of CPU. */
const accounts = 12_000

t.test('a load that is killed leaves no store, and the next one makes it', async (t) => {
  const folder = makeFolder(t)
  const made = makeState(folder, accounts, 12)
  const dice = new Dice(propertyRuns(1).seed as number)
  /** How long the load took that was the longest so far. */
  let longestMs = 1_500
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
