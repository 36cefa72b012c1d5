import t from 'tap'
import { AskedBefore } from '../../../src/primitives/askedBefore.js'

t.test('a question is known from the second time on', async (t) => {
  const asked = new AskedBefore()
  t.equal(asked.ask('a'), false)
  t.equal(asked.ask('b'), false)
  t.equal(asked.ask('a'), true)
  t.equal(asked.ask('a'), true)
  t.equal(asked.ask(''), false)
  t.equal(asked.ask(''), true)
})

t.test('questions that differ in one character seldom pass for each other', async (t) => {
  const asked = new AskedBefore()
  let mistaken = 0
  for (let i = 0; i < 10_000; i++) {
    const word = i.toString(16).padStart(64, '0')
    if (asked.ask(`{"jsonrpc":"2.0","method":"eth_getStorageAt","params":["0xc0de","0x${word}","latest"]}`))
      mistaken++
  }
  t.equal(mistaken, 0)
})

t.test('of a few places the later question takes one', async (t) => {
  const asked = new AskedBefore(1)
  t.equal(asked.ask('a'), false)
  t.equal(asked.ask('b'), false)
  t.equal(asked.ask('a'), false, 'b took its place')
  t.equal(asked.ask('a'), true)
})
