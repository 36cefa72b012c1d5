/** A stored answer is found for exactly its question, at any position in a request. */
import fc from 'fast-check'
import t from 'tap'
import { AnswerMemo } from '../../../../src/serving/rpc/answers/answerMemo.js'
import { propertyRuns } from '../../../library/property.js'

/** The text of parameters, and the number of a method. Few letters, so that many are almost equal. */
const question = fc
  .tuple(fc.string({ unit: fc.constantFrom('a', 'b', '\0'), maxLength: 9 }), fc.nat(2))
  .map(([text, method]) => ({ text, method }))

interface Asked {
  readonly text: string
  readonly method: number
}

const nameOf = (method: number) => `test_${method}`

function readFrom(memo: AnswerMemo, { text, method }: Asked, before = '', after = '', isQuick = false) {
  const bytes = new Uint8Array(Buffer.from(`${before}${text}${after}`))
  const named = { name: nameOf(method), number: method, params: undefined, isQuick }
  return memo.find(named, bytes, before.length, before.length + text.length)
}

/** Repeats a call, and stores its answer, because the first answer of a call is not stored. */
function keep(memo: AnswerMemo, asked: Asked, json: string | Uint8Array): void {
  for (let time = 0; time < 2; time++) {
    if (readFrom(memo, asked, String(time)) !== undefined) return
    const missed = memo.missed()
    if (missed !== undefined) memo.write(missed, json, { method: nameOf(asked.method), price: 1, slot: 0 })
  }
}

t.test('a question is told from every other by its method and by the bytes of its parameters', async (t) => {
  let found = 0
  fc.assert(
    fc.property(
      fc.array(question, { maxLength: 20 }),
      fc.array(question, { maxLength: 20 }),
      (kept, others) => {
        const memo = new AnswerMemo(1_000_000, () => 1)
        const answers = new Map<string, string>()
        for (const { text, method } of kept) {
          const json = JSON.stringify([text, method])
          answers.set(json, json)
          keep(memo, { text, method }, json)
        }
        for (const asked of [...kept, ...others]) {
          const expected = answers.get(JSON.stringify([asked.text, asked.method]))
          for (const [before, after] of [
            ['7', ''],
            ['[{},', 'a'],
            ['', ' '],
          ] as const) {
            const remembered = readFrom(memo, asked, before, after)
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
  const asked = { text: '[1]', method: 0 }
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
    const asked = { text: '[1]', method: 0 }
    keep(memo, asked, 'x'.repeat(1_001))
    t.equal(readFrom(memo, asked, '1'), undefined)
    keep(memo, asked, '"x"')
    t.equal(readFrom(memo, asked, '1')?.json, '"x"')
    generation = 2
    t.equal(readFrom(memo, asked, '1'), undefined)
    const missed = memo.missed()
    generation = 3
    if (missed !== undefined)
      memo.write(missed, '"of the head before"', { method: nameOf(0), price: 1, slot: 0 })
    t.equal(readFrom(memo, asked, '1'), undefined)
    t.ok(missed)
  },
)

t.test(
  'few answers are kept where they go before they are asked for again, and all that have room',
  async (t) => {
    /**
     * Asks this number of questions in turn. Returns how many were stored, and how many found, in the last of some
     * rounds.
     */
    const lastRound = (questions: number, rounds: number) => {
      const memo = new AnswerMemo(1_000_000, () => 1)
      let kept = 0
      let found = 0
      for (let round = 0; round < rounds; round++) {
        kept = found = 0
        for (let number = 0; number < questions; number++) {
          if (readFrom(memo, { text: `[${number}]`, method: 0 }) !== undefined) found++
          else {
            const missed = memo.missed()
            if (missed === undefined) continue
            memo.write(missed, '"0x1"', { method: nameOf(0), price: 1, slot: 0 })
            kept++
          }
        }
      }
      return { kept, found }
    }
    const tooMany = lastRound(12_000, 20)
    t.ok(tooMany.kept < 12_000 / 10, `${tooMany.kept} of 12,000 are kept`)
    t.ok(tooMany.found > tooMany.kept, `${tooMany.found} are found`)
    const fitting = lastRound(400, 40)
    t.ok(fitting.found > 380, `${fitting.found} of 400 are found`)
  },
)

t.test(
  'calls of a quick method that hardly repeat are seldom looked for, and again when they do',
  async (t) => {
    const rounds = 50_000
    for (const isQuick of [true, false]) {
      const memo = new AnswerMemo(1_000_000, () => 1)
      const hot = { text: '["hot"]', method: 0 }
      /** Number of lookups that find the hot call, which is one call in `oneIn`, among others that never repeat. */
      const foundOf = (oneIn: number, method = 0) => {
        let found = 0
        for (let number = 0; number < rounds; number++) {
          const isHot = number % oneIn === 0
          const asked = { text: isHot ? hot.text : `[${oneIn}, ${number}]`, method }
          if (readFrom(memo, asked, '', '', isQuick) !== undefined) found++
          else {
            const missed = memo.missed()
            if (missed !== undefined)
              memo.write(missed, '"0x1"', { method: nameOf(method), price: 1, slot: 0 })
          }
        }
        return found / (rounds / oneIn)
      }
      const seldom = foundOf(50)
      t.ok(isQuick ? seldom < 0.2 : seldom > 0.9, `${seldom} where one in 50 repeats`)
      const ofAnother = foundOf(2, 1)
      t.ok(ofAnother > 0.99, `${ofAnother} of another method`)
      const often = foundOf(2)
      t.ok(often > 0.6, `${often} once every second one repeats`)
    }
  },
)

t.test('a memo that forgets is as a new one: calls that came before count no longer', async (t) => {
  const memo = new AnswerMemo(1_000_000, () => 1)
  const asked = { text: '[1]', method: 0 }
  keep(memo, asked, '"x"')
  t.equal(readFrom(memo, asked, '1')?.json, '"x"')
  // Calls that never repeat, until they are no longer looked up.
  const isLookedUp = (number: number) => {
    readFrom(memo, { text: `[${number}]`, method: 2 }, '', '', true)
    return memo.missed() !== undefined
  }
  for (let number = 0; number < 5_000; number++) isLookedUp(number)
  for (let time = 0; time < 3; time++) t.notOk(isLookedUp(-1))
  memo.forget()
  t.equal(readFrom(memo, asked, '1'), undefined)
  t.equal(memo.missed(), undefined, 'it came for the first time')
  t.strictSame([isLookedUp(-1), isLookedUp(-1)], [false, true], 'quick calls are looked up again')
})
