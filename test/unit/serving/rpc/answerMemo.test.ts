/** What is remembered is found for the very question that it answers, wherever that stands in a request. */
import fc from 'fast-check'
import t from 'tap'
import { AnswerMemo } from '../../../../src/serving/rpc/answers/answerMemo.js'
import { propertyRuns } from '../../../library/property.js'

/** A text with the place where its id was cut out. Few letters, so that many are almost equal. */
const question = fc
  .tuple(fc.string({ unit: fc.constantFrom('a', 'b', '\0'), maxLength: 9 }), fc.nat(9))
  .map(([text, at]) => ({ text, idAt: Math.min(at, text.length) }))

interface Asked {
  readonly text: string
  readonly idAt: number
}

function readFrom(memo: AnswerMemo, { text, idAt }: Asked, id: string, before = '') {
  const body = `${before}${text.slice(0, idAt)}${id}${text.slice(idAt)}`
  const start = before.length
  const idStart = start + idAt
  return memo.find(new Uint8Array(Buffer.from(body)), start, idStart, idStart + id.length, body.length)
}

/** Has a call come twice, and keeps its answer, as what is asked for the first time is not kept. */
function keep(memo: AnswerMemo, asked: Asked, json: string | Uint8Array): void {
  for (let time = 0; time < 2; time++) {
    if (readFrom(memo, asked, String(time)) !== undefined) return
    const missed = memo.missed()
    if (missed !== undefined) memo.write(missed, json, { method: 'test', price: 1, slot: 0 })
  }
}

t.test('a question is told from every other by its bytes and by where its id stands', async (t) => {
  let found = 0
  fc.assert(
    fc.property(
      fc.array(question, { maxLength: 20 }),
      fc.array(question, { maxLength: 20 }),
      (kept, others) => {
        const memo = new AnswerMemo(1_000_000, () => 1)
        const answers = new Map<string, string>()
        for (const { text, idAt } of kept) {
          const json = JSON.stringify([text, idAt])
          answers.set(json, json)
          keep(memo, { text, idAt }, json)
        }
        for (const asked of [...kept, ...others]) {
          const expected = answers.get(JSON.stringify([asked.text, asked.idAt]))
          for (const [id, before] of [
            ['7', ''],
            ['"an id"', '[{},'],
            ['', ' '],
          ] as const) {
            const remembered = readFrom(memo, asked, id, before)
            if (remembered?.json !== expected)
              throw new Error(`${JSON.stringify(asked)}: ${remembered?.json}`)
            if (expected === undefined) continue
            found++
            const tail = Buffer.from(remembered?.tail ?? []).toString()
            if (tail !== `,"result":${expected}}`) throw new Error(tail)
          }
        }
      },
    ),
    propertyRuns(200),
  )
  t.ok(found > 100)
})

t.test('bytes are kept once, with what follows them in an answer', async (t) => {
  const memo = new AnswerMemo(1_000_000, () => 1)
  const asked = { text: ',"method":"m"}', idAt: 0 }
  keep(memo, asked, Buffer.from('{"a":1}'))
  const remembered = readFrom(memo, asked, '12')
  t.equal(Buffer.from(remembered?.tail ?? []).toString(), ',"result":{"a":1}}')
  t.equal(Buffer.from(remembered?.json ?? []).toString(), '{"a":1}')
  t.equal((remembered as { json: Uint8Array }).json.buffer, remembered?.tail.buffer)
})

t.test(
  'a result that would leave no room for others is not kept, and none longer than the head lasts',
  async (t) => {
    let generation = 1
    const memo = new AnswerMemo(8_000, () => generation)
    const asked = { text: ',"method":"m"}', idAt: 0 }
    keep(memo, asked, 'x'.repeat(1_001))
    t.equal(readFrom(memo, asked, '1'), undefined)
    keep(memo, asked, '"x"')
    t.equal(readFrom(memo, asked, '1')?.json, '"x"')
    generation = 2
    t.equal(readFrom(memo, asked, '1'), undefined)
    const missed = memo.missed()
    generation = 3
    if (missed !== undefined)
      memo.write(missed, '"of the head before"', { method: 'test', price: 1, slot: 0 })
    t.equal(readFrom(memo, asked, '1'), undefined)
    t.ok(missed)
  },
)
