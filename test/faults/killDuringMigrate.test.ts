/** A store is made anew in today's layout, and the process is killed at any moment of it. */
import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { ChainReader } from '../../src/store/chainReader.js'
import { Dice, propertyRuns } from '../library/property.js'
import { copyDemoStore, makeFolder, runProgram, startProgram } from '../service/program.js'
import { checkedHead } from '../store/checkedStore.js'
import { takeBackToAddressKeys, takeBackToBlockRows, takeBackToTrieRows } from '../store/formerLayout.js'
import { differences, dumpStore } from '../store/storeDump.js'

/** Each makes the store of the demo chain anew, some times over. */
const kills = Number(process.env.KILLS ?? 9)
/** A run takes about as long. */
const longestMs = 1_500

const takeBacks = [takeBackToBlockRows, takeBackToTrieRows, takeBackToAddressKeys]

for (const takeBack of takeBacks)
  t.test(
    `a migration after ${takeBack.name} that is killed again and again ends with the whole chain`,
    async (t) => {
      const dice = new Dice(propertyRuns(1).seed as number)
      const folder = makeFolder(t)
      const path = copyDemoStore(folder, 'demo')
      const before = ChainReader.open({ path })
      const whole = dumpStore(before)
      await before.close()
      await takeBack(path)
      const words = ['migrate', '--data', folder]
      for (let kill = 0; kill < kills / takeBacks.length; kill++) {
        const run = startProgram(words)
        // The moment is the point, not an event.
        await Promise.race([setTimeout(dice.throw(longestMs)), run.finished])
        run.process.kill('SIGKILL')
        await run.finished
        t.ok(existsSync(path), 'one of the two stores is there')
      }
      const { status, err } = await runProgram(words)
      t.equal(status, 0, err)
      t.notOk(existsSync(`${path}.new`), 'nothing is left beside it')
      t.match(await checkedHead(t, path), { number: 264 })
      const after = ChainReader.open({ path })
      t.strictSame(differences(dumpStore(after), whole), [])
      await after.close()
      t.match(await runProgram(words), { status: 0, out: /demo: up to date/ })
    },
  )
