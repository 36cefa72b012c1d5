import t from 'tap'
import { AnswerCache } from '../../../src/chain/answerCache.js'

const bytes = (length: number) => new Uint8Array(length)

t.test('what was used longest ago leaves first, whichever way it was used', async (t) => {
  const cache = new AnswerCache(30)
  for (const key of ['a', 'b', 'c']) cache.keep(key, bytes(10))
  cache.read('a')
  cache.getOrRender('b', () => 'never rendered')
  cache.keep('d', bytes(10))
  t.strictSame(
    ['a', 'b', 'c', 'd'].map((key) => cache.read(key)?.length),
    [10, 10, undefined, 10],
  )
})

t.test('an answer kept twice counts once', async (t) => {
  const cache = new AnswerCache(30)
  cache.keep('a', bytes(10))
  for (let i = 0; i < 5; i++) cache.keep('b', bytes(20))
  t.equal(cache.read('a')?.length, 10)
  t.equal(cache.read('b')?.length, 20)
})

t.test('an answer above the whole budget is given and not kept', async (t) => {
  const cache = new AnswerCache(5)
  cache.keep('a', bytes(5))
  t.equal(cache.getOrRender('b', () => '123456')?.length, 6)
  t.equal(cache.read('b'), undefined)
  t.equal(cache.read('a')?.length, 5)
})

t.test('nothing rendered is nothing kept', async (t) => {
  const cache = new AnswerCache(5)
  t.equal(
    cache.getOrRender('a', () => undefined),
    undefined,
  )
  t.equal(cache.getOrRender('a', () => '1')?.length, 1)
})
