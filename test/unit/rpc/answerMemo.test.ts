/** What is remembered is found for the very question that it answers, wherever that stands in a request. */
import fc from 'fast-check'
import t from 'tap'
import { AnswerMemo } from '../../../src/rpc/answers/answerMemo.js'
import { propertyRuns } from '../../library/property.js'

/** A text with the place where its id was cut out. Few letters, so that many are almost equal. */
const question = fc
  .tuple(fc.string({ unit: fc.constantFrom('a', 'b', '\0'), maxLength: 9 }), fc.nat(9))
  .map(([text, at]) => ({ text, idAt: Math.min(at, text.length) }))

function readFrom(memo: AnswerMemo, { text, idAt }: { text: string; idAt: number }, id: string, before = '') {
  const body = `${before}${text.slice(0, idAt)}${id}${text.slice(idAt)}`
  const start = before.length
  const idStart = start + idAt
  return memo.read(new Uint8Array(Buffer.from(body)), start, idStart, idStart + id.length, body.length, 1)
}

t.test('a question is told from every other by its bytes and by where its id stands', async (t) => {
  let found = 0
  fc.assert(
    fc.property(
      fc.array(question, { maxLength: 20 }),
      fc.array(question, { maxLength: 20 }),
      (kept, others) => {
        const memo = new AnswerMemo(1_000_000, 1)
        const answers = new Map<string, string>()
        for (const { text, idAt } of kept) {
          const json = JSON.stringify([text, idAt])
          answers.set(json, json)
          // What was not asked before is not kept.
          for (let time = 0; time < 2; time++)
            memo.write({ text, idAt }, json, { method: 'test', price: 1, slot: 0 }, 1)
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
  const memo = new AnswerMemo(1_000_000, 1)
  const asked = { text: ',"method":"m"}', idAt: 0 }
  for (let time = 0; time < 2; time++)
    memo.write(asked, Buffer.from('{"a":1}'), { method: 'test', price: 1, slot: 0 }, 1)
  const remembered = readFrom(memo, asked, '12')
  t.equal(Buffer.from(remembered?.tail ?? []).toString(), ',"result":{"a":1}}')
  t.equal(Buffer.from(remembered?.json ?? []).toString(), '{"a":1}')
  t.equal((remembered as { json: Uint8Array }).json.buffer, remembered?.tail.buffer)
})

t.test(
  'a result that would leave no room for others is not kept, and none longer than the head lasts',
  async (t) => {
    const memo = new AnswerMemo(8_000, 1)
    const asked = { text: ',"method":"m"}', idAt: 0 }
    for (let time = 0; time < 2; time++)
      memo.write(asked, 'x'.repeat(1_001), { method: 'test', price: 1, slot: 0 }, 1)
    t.equal(readFrom(memo, asked, '1'), undefined)
    memo.write(asked, '"x"', { method: 'test', price: 1, slot: 0 }, 1)
    t.equal(readFrom(memo, asked, '1')?.json, '"x"')
    t.equal(memo.read(Buffer.from(`1${asked.text}`), 0, 0, 1, 15, 2), undefined)
    t.equal(readFrom(memo, asked, '1'), undefined)
  },
)
