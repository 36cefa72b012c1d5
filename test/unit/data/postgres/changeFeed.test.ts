import t from 'tap'
import { keepConnected, News, Outage } from '../../../../src/data/postgres/changeFeed.js'

t.test('news that comes while somebody looks ends the next wait at once', async (t) => {
  const news = new News()
  news.expect()
  news.arrive()
  // A limit beyond any test.
  await news.wait(600_000)
  news.expect()
  await news.wait(1)
  t.pass('without news a wait ends by its time')
})

t.test('an outage is reported once, and its end once', async (t) => {
  const said: string[] = []
  const outage = new Outage({ begins: 'it does not answer', ends: 'it answers again' }, (text) =>
    said.push(text),
  )
  outage.end()
  for (const reason of ['one', 'two', 'one']) outage.begin(reason)
  t.equal(outage.isOn, true)
  outage.end()
  outage.end()
  outage.begin('three')
  t.strictSame(said, ['it does not answer: one', 'it answers again', 'it does not answer: three'])
})

t.test('a connection is made again after each loss, and closed each time', async (t) => {
  const happened: string[] = []
  let count = 0
  const ending = new AbortController()
  const options = {
    connect: async () => {
      count++
      happened.push(`connect ${count}`)
      if (count === 1) throw new Error('refused')
      return { close: async () => void happened.push(`close ${count}`) }
    },
    use: async () => {
      happened.push(`use ${count}`)
      if (count === 2) throw new Error('lost')
    },
    onLost: ({ message }: Error) => {
      happened.push(message)
      if (message === 'another chain') throw new Error(message)
    },
    retryMs: 1,
    signal: ending.signal,
  }
  await keepConnected(options)
  t.strictSame(happened.splice(0), [
    'connect 1',
    'refused',
    'connect 2',
    'use 2',
    'lost',
    'close 2',
    'connect 3',
    'use 3',
    'close 3',
  ])
  const failing = async () => {
    happened.push('failing')
    throw new Error('another chain')
  }
  await t.rejects(keepConnected({ ...options, use: failing }), { message: 'another chain' })
  t.strictSame(happened.splice(0), ['connect 4', 'failing', 'another chain', 'close 4'])
  ending.abort()
  await keepConnected({ ...options, connect: () => Promise.reject(new Error('refused')) })
  t.strictSame(happened, ['refused'], 'once aborted, it tries once')
})
