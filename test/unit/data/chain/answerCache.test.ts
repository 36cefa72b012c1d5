import t from 'tap'
import { AnswerCache } from '../../../../src/data/chain/answerCache.js'
import { BlockAnswers } from '../../../../src/data/chain/blockAnswers.js'
import { toHash32 } from '../../../../src/primitives/bytes.js'
import { JsonBytes } from '../../../../src/primitives/jsonBytes.js'
import { SeenOnceFilter } from '../../../../src/primitives/seenOnceFilter.js'

const bytes = (length: number) => new Uint8Array(length)

t.test('what was used longest ago leaves first, whichever way it was used', async (t) => {
  const cache = new AnswerCache(40)
  for (const key of ['a', 'b', 'c', 'z']) cache.keep(key, bytes(10))
  cache.read('a')
  cache.getOrRender('b', () => 'never rendered')
  cache.read('z')
  cache.keep('d', bytes(10))
  t.strictSame(
    ['a', 'b', 'c', 'd'].map((key) => cache.read(key)?.length),
    [10, 10, undefined, 10],
  )
})

t.test('an answer kept twice counts once', async (t) => {
  const cache = new AnswerCache(40)
  cache.keep('a', bytes(10))
  for (let i = 0; i < 5; i++) cache.keep('b', bytes(10))
  t.equal(cache.read('a')?.length, 10)
  t.equal(cache.read('b')?.length, 10)
})

t.test('an answer above a quarter of the budget is given and not kept, and pushes nothing out', async (t) => {
  const cache = new AnswerCache(20)
  for (const key of ['a', 'b', 'c', 'd']) cache.keep(key, bytes(5))
  t.equal(cache.getOrRender('e', () => '123456')?.length, 6)
  t.equal(cache.read('e'), undefined)
  for (const key of ['a', 'b', 'c', 'd']) t.equal(cache.read(key)?.length, 5)
})

t.test('nothing rendered is nothing kept', async (t) => {
  const cache = new AnswerCache(20)
  t.equal(
    cache.getOrRender('a', () => undefined),
    undefined,
  )
  t.equal(cache.getOrRender('a', () => '1')?.length, 1)
})

t.test('an answer of which few are asked for again is kept from its second time on', async (t) => {
  const cache = new AnswerCache(40, new SeenOnceFilter(64))
  let rendered = 0
  const render = () => {
    rendered++
    return 'text'
  }
  for (let time = 0; time < 4; time++) t.equal(Buffer.from(cache.getOrRender('a', render)).toString(), 'text')
  t.equal(rendered, 2)
})

t.test('a cache without room keeps nothing', async (t) => {
  const cache = new AnswerCache(0)
  for (const text of ['once', 'again'])
    t.equal(Buffer.from(cache.getOrRender('a', () => text)).toString(), text)
})

t.test(
  'answers about blocks are kept from their second time on, and never where there is no room',
  async (t) => {
    const hash = toHash32(bytes(32).fill(7))
    for (const [room, expected] of [
      [1_000, [false, true]],
      [0, [false, false, false]],
    ] as const) {
      const answers = new BlockAnswers(room)
      const json = new JsonBytes(64)
      const isKept: boolean[] = []
      for (let time = 0; time < 3; time++) {
        let answer = answers.find(hash, 'receipts')
        if (answer === undefined) {
          json.clear()
          json.text('["0x1234"]')
          answer = answers.finish(json)
          isKept.push(answer.buffer.byteLength === answer.length)
        }
        t.equal(Buffer.from(answer).toString(), '["0x1234"]')
      }
      t.strictSame(isKept, expected, `with room for ${room} bytes`)
    }
  },
)

t.test('a cleared cache is as a new one, its counts included', async (t) => {
  const unused = { hits: 0, misses: 0, bytes: 0 }
  const cache = new AnswerCache(40)
  cache.keep('a', bytes(10))
  cache.read('a')
  cache.read('b')
  t.strictSame(cache.use, { hits: 1, misses: 1, bytes: 10 })
  cache.clear()
  t.strictSame(cache.use, unused)
  t.equal(cache.read('a'), undefined)

  const answers = new BlockAnswers(1_000)
  const hash = toHash32(bytes(32).fill(7))
  const json = new JsonBytes(64)
  const write = () => {
    const found = answers.find(hash, 'receipts')
    if (found !== undefined) return 'found'
    json.clear()
    json.text('[]')
    answers.finish(json)
    return 'written'
  }
  const once = ['written', 'written', 'found']
  t.strictSame([write(), write(), write()], once)
  answers.clear()
  t.strictSame(answers.use, unused)
  t.strictSame([write(), write(), write()], once, 'earlier requests are forgotten')
})
