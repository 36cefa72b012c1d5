/** The counts of unread answers: shared pieces once, and parts of streams. */
import t from 'tap'
import { JsonStream } from '../../../../src/serving/rpc/answers/jsonStream.js'
import { localTotals } from '../../../../src/serving/transport/totals.js'
import { UnreadAnswer } from '../../../../src/serving/transport/unreadAnswer.js'

const KiB = 1024

function poolOf(open: number, bufferedBytesMax = 1024 * KiB) {
  return { bufferedBytes: localTotals().bodyBytes, bufferedBytesMax, sharedPieces: new Map(), open }
}

const never = () => t.fail('the connection ends')

t.test(
  'a long piece that several answers have is counted once, until the last of them is over',
  async (t) => {
    const pool = poolOf(10)
    const long = new Uint8Array(100 * KiB)
    const short = new Uint8Array(10)
    const answers = Array.from({ length: 5 }, () => new UnreadAnswer(pool, never))
    for (const answer of answers) answer.count({ body: ['é', short, long, long] })
    t.equal(pool.bufferedBytes.value, 100 * KiB + 5 * 12)
    for (const answer of answers.slice(1)) answer.over()
    t.equal(pool.bufferedBytes.value, 100 * KiB + 12)
    answers[0]?.over()
    t.equal(pool.bufferedBytes.value, 0)
    t.equal(pool.sharedPieces.size, 0)
  },
)

t.test('parts of a stream are counted while nobody has taken them', async (t) => {
  const pool = poolOf(10)
  const stream = new JsonStream(() => {})
  const taken: (() => void)[] = []
  let passedOn = 0
  const put = () => stream.put(new Uint8Array(KiB), () => passedOn++)
  put()
  const answer = new UnreadAnswer(pool, never)
  stream.pipe({ put: (_, done) => taken.push(done), end: () => {}, fail: () => {} })
  answer.count({ body: 'head', rest: { stream, end: ']' } })
  t.equal(pool.bufferedBytes.value, KiB + 4)
  put()
  t.equal(pool.bufferedBytes.value, 2 * KiB + 4)
  for (const done of taken.splice(0)) done()
  t.equal(passedOn, 2)
  t.equal(pool.bufferedBytes.value, 4)
  put()
  stream.finish({ last: new Uint8Array(2 * KiB) })
  t.equal(pool.bufferedBytes.value, 3 * KiB + 4)
  answer.over()
  for (const done of taken) done()
  t.equal(pool.bufferedBytes.value, 0)
})

t.test(
  'beyond the limit a connection ends that has more than the average, of parts and shared pieces too',
  async (t) => {
    const pool = poolOf(4, 100 * KiB)
    const stream = new JsonStream(() => {})
    let ended = 0
    const answer = new UnreadAnswer(pool, () => {
      ended++
      answer.over()
    })
    answer.count({ body: '', rest: { stream, end: ']' } })
    stream.put(new Uint8Array(90 * KiB), () => {})
    t.equal(ended, 0)
    new UnreadAnswer(pool, never).count({ body: ['x'.repeat(20 * KiB)] })
    t.equal(ended, 0, 'it has less than the average')
    stream.put(new Uint8Array(KiB), () => {})
    t.equal(ended, 1)
    t.equal(pool.bufferedBytes.value, 20 * KiB)
    const long = new Uint8Array(90 * KiB)
    const shared = new UnreadAnswer(pool, () => {
      ended++
      shared.over()
    })
    shared.count({ body: [long] })
    t.equal(ended, 2)
    t.equal(pool.bufferedBytes.value, 20 * KiB)
  },
)
