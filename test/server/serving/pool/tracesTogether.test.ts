/**
 * Traces that are posted to a thread together. A trace that sends parts of its result, or takes long, begins again
 * alone.
 */
import t from 'tap'
import { blocks } from '../../../rpc/demoChain.js'
import { startService } from '../../../service/service.js'

const service = await startService()
t.teardown(() => service.stop())

const hashes = blocks.flatMap(({ transactions }) => transactions.map(({ hash }) => hash))
const askedMax = 12
/** More than a part, so that some come before the rest is made. */
const longBytesMin = 512 * 1024

t.test(
  'short and long traces that are asked for at once are those that are asked for one by one',
  async (t) => {
    const ask = async (hash: string, options: object) =>
      JSON.stringify(await service.call('debug_traceTransaction', [hash, options]))
    const memory = { enableMemory: true, enableReturnData: true }
    let long: string | undefined
    for (const hash of hashes.slice(-200)) {
      if ((await ask(hash, memory)).length < longBytesMin) continue
      long = hash
      break
    }
    if (long === undefined) throw new Error('the demo chain has no such transaction')
    const short = hashes.slice(-askedMax)
    const questions = short.flatMap((hash) => [
      [hash, { tracer: 'callTracer' }] as const,
      [long, memory] as const,
      [hash, { tracer: 'prestateTracer' }] as const,
    ])
    const oneByOne: string[] = []
    for (const [hash, options] of questions) oneByOne.push(await ask(hash, options))
    const together = await Promise.all(questions.map(([hash, options]) => ask(hash, options)))
    t.ok(
      together.every((answer, at) => answer === oneByOne[at]),
      'each answer is the same',
    )
    t.ok(oneByOne.every((answer) => !answer.includes('"error":{')))
  },
)
