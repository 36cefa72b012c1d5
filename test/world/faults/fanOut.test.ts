/** Heads for many clients of which some stop reading, against the program as its operator runs it. */
import t from 'tap'
import { policies } from '../../../src/serving/streams/subscription.js'
import { makeReplayedChain } from '../../ingest/replayedChain.js'
import { Steps } from '../../ingest/steppedReplay.js'
import { waitFor } from '../../library/until.js'
import { readRssBytes } from '../../service/service.js'
import { EventListener, openListeners } from '../../streams/eventListener.js'
import { isHandledAs, loudBlocksMin, planOfLoudness, stoppedStreams } from '../../streams/fanOut.js'

const MiB = 2 ** 20
const readersCount = 450
/** Number of clients of each policy. */
const stoppedCount = 17

/** Some heads come before the large blocks, and some more for those who read again. */
const quietBlocks = 4
const loud = { from: quietBlocks + 1, to: quietBlocks + loudBlocksMin + 4 }
const length = loud.to + 6

/**
 * Limit of memory for a client that does not read: two unsent events (33 KiB), and its share of its socket and
 * subscriptions. Waiting events do not count, because all clients share them.
 */
const bytesPerStopped = 256 * 1024
/**
 * For rendering large blocks and for the blocks' own caches, independent of the readers: 16 blocks of 540 KB, several
 * times over.
 */
const bytesForBlocks = 100 * MiB

t.test(
  'heads reach all who read, and those who do not are handled as declared',
  { skip: process.platform !== 'linux' && 'resident memory is read from /proc' },
  async (t) => {
    const chain = await makeReplayedChain(t, {
      length,
      from: 1,
      intervalMs: 1,
      planOf: (number) => planOfLoudness(number >= loud.from && number <= loud.to),
    })
    const steps = await Steps.listen(t)
    const service = await chain.start(steps.env())
    t.teardown(() => service.stop())
    const url = `${service.origin.replace('http', 'ws')}/ws`
    const readers = await openListeners(readersCount, () => EventListener.open(url, [['newHeads']]))
    const stopped = await openListeners(stoppedCount * policies.length, async (index) => {
      const listener = await EventListener.open(url, stoppedStreams(policyOf(index)))
      listener.pause()
      return listener
    })
    t.teardown(() => {
      for (const listener of [...readers, ...stopped]) listener.cut()
    })
    let peakBytes = 0
    let next = 2
    const playTo = async (last: number) => {
      for (; next <= last; next++) {
        await steps.next()
        await waitFor(`head ${next}`, () => {
          peakBytes = Math.max(peakBytes, readRssBytes(service.process.pid))
          return readers.every((reader) => reader.heads.to >= next)
        })
      }
    }
    await playTo(quietBlocks)
    const beforeBytes = readRssBytes(service.process.pid)
    await playTo(loud.to + 1)
    for (const listener of stopped) listener.resume()
    await playTo(length)
    const isHandled = (listener: EventListener, index: number) =>
      isHandledAs(policyOf(index), listener, loud, length)
    await waitFor('those who read again', () => stopped.every(isHandled)).catch(() => {})
    const missed = readers.filter(
      ({ heads, end }) => end !== undefined || heads.skipped > 0 || !heads.isComplete(1, heads.from, length),
    )
    t.equal(missed.length, 0, 'every reader got every head')
    for (const policy of policies) {
      const wrong = stopped.filter(
        (listener, index) => policyOf(index) === policy && !isHandled(listener, index),
      )
      t.equal(wrong.length, 0, `handled as declared: ${policy}`)
      for (const { heads, logs, end } of wrong.slice(0, 1)) t.comment(policy, { heads, logs, end })
    }
    const shown = [beforeBytes, peakBytes, readRssBytes(service.process.pid)].map((bytes) =>
      Math.round(bytes / MiB),
    )
    t.comment(`RSS before, during, after: ${shown.join(', ')} MiB`)
    t.ok(
      peakBytes - beforeBytes < bytesForBlocks + stopped.length * bytesPerStopped,
      `${shown.join(', ')} MiB`,
    )
  },
)

function policyOf(index: number) {
  return policies[index % policies.length] as (typeof policies)[number]
}
