import t from 'tap'
import { nearest } from '../../../src/primitives/nearest.js'

t.test('one slip in a word leads back to it', async (t) => {
  const words = ['serve', 'import', 'verify', 'keys']
  for (const slip of ['serv', 'sevre', 'servee', 'sxrve', 'SERVE'])
    t.equal(nearest(slip, words), 'serve', slip)
  t.equal(nearest('kyes', words), 'keys')
})

t.test('the nearest of several near words is chosen', async (t) => {
  t.equal(nearest('blocks', ['block', 'blocks', 'clocks']), 'blocks')
})

t.test('a word unlike all others suggests nothing', async (t) => {
  t.equal(nearest('frobnicate', ['serve', 'import']), undefined)
  t.equal(nearest('', ['serve']), undefined)
  t.equal(nearest('x', []), undefined)
})
