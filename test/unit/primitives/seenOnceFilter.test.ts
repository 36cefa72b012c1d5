import t from 'tap'
import { SeenOnceFilter } from '../../../src/primitives/seenOnceFilter.js'

t.test('a question is known from the second time on', async (t) => {
  const filter = new SeenOnceFilter()
  t.equal(filter.admits('a'), false)
  t.equal(filter.admits('b'), false)
  t.equal(filter.admits('a'), true)
  t.equal(filter.admits('a'), true)
  t.equal(filter.admits(''), false)
  t.equal(filter.admits(''), true)
})

t.test('questions that differ in one character seldom pass for each other', async (t) => {
  const filter = new SeenOnceFilter()
  let mistaken = 0
  for (let i = 0; i < 10_000; i++) {
    const word = i.toString(16).padStart(64, '0')
    if (
      filter.admits(`{"jsonrpc":"2.0","method":"eth_getStorageAt","params":["0xc0de","0x${word}","latest"]}`)
    )
      mistaken++
  }
  t.equal(mistaken, 0)
})

t.test('of a few places the last two questions have one each', async (t) => {
  const filter = new SeenOnceFilter(2)
  t.equal(filter.admits('a'), false)
  t.equal(filter.admits('b'), false)
  t.equal(filter.admits('a'), true)
  t.equal(filter.admits('c'), false)
  t.equal(filter.admits('b'), true)
  t.equal(filter.admits('a'), false, 'c took its place')
  t.equal(filter.admits('a'), true)
})

t.test('hashes and what is asked about them are told apart', async (t) => {
  const filter = new SeenOnceFilter()
  const hash = Uint8Array.from({ length: 32 }, (_, at) => 255 - at)
  for (const what of [0, 1, 2]) t.equal(filter.admitsHash(hash, what), false)
  for (const what of [0, 1, 2]) t.equal(filter.admitsHash(hash, what), true)
  t.equal(filter.admitsHash(new Uint8Array(32), 0), false, 'zeros too are new at first')
  t.equal(filter.admitsHash(new Uint8Array(32), 0), true)
})
