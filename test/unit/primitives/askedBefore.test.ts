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

t.test('of a few places the last two questions have one each', async (t) => {
  const asked = new AskedBefore(2)
  t.equal(asked.ask('a'), false)
  t.equal(asked.ask('b'), false)
  t.equal(asked.ask('a'), true)
  t.equal(asked.ask('c'), false)
  t.equal(asked.ask('b'), true)
  t.equal(asked.ask('a'), false, 'c took its place')
  t.equal(asked.ask('a'), true)
})

t.test('hashes and what is asked about them are told apart', async (t) => {
  const asked = new AskedBefore()
  const hash = Uint8Array.from({ length: 32 }, (_, at) => 255 - at)
  for (const what of [0, 1, 2]) t.equal(asked.askAbout(hash, what), false)
  for (const what of [0, 1, 2]) t.equal(asked.askAbout(hash, what), true)
  t.equal(asked.askAbout(new Uint8Array(32), 0), false, 'zeros too are new at first')
  t.equal(asked.askAbout(new Uint8Array(32), 0), true)
})
