import t from 'tap'
import { giveBack, takeBuffer } from '../../../src/primitives/bufferPool.js'

t.test('what was given back is lent again, once', async (t) => {
  const first = takeBuffer(100_000)
  t.equal(first.length, 100_000)
  const { buffer } = first
  giveBack(first.subarray(10, 20))
  giveBack(first)
  const second = takeBuffer(120_000)
  t.equal(second.buffer, buffer)
  t.not(takeBuffer(120_000).buffer, buffer)
  giveBack(second)
})

t.test('what is lent at once never shares memory', async (t) => {
  const lent = [40_000, 70_000, 130_000, 1_000_000, 40_000].map((length) => takeBuffer(length))
  t.equal(new Set(lent.map(({ buffer }) => buffer)).size, lent.length)
  for (const [index, bytes] of lent.entries()) bytes.fill(index)
  for (const [index, bytes] of lent.entries()) t.ok(bytes.every((byte) => byte === index))
  for (const bytes of lent) giveBack(bytes)
})

t.test('other memory is not taken, and no more than 4 MiB is free', async (t) => {
  const own = new Uint8Array(65_536)
  giveBack(own)
  t.not(takeBuffer(65_536).buffer, own.buffer)
  const short = takeBuffer(10)
  giveBack(short)
  t.not(takeBuffer(10).buffer, short.buffer)
  const long = takeBuffer(2_000_000)
  giveBack(long)
  t.not(takeBuffer(2_000_000).buffer, long.buffer)
  const lent = Array.from({ length: 40 }, () => takeBuffer(2 ** 20))
  for (const bytes of lent) giveBack(bytes)
  const buffers = new Set(lent.map(({ buffer }) => buffer))
  const again = Array.from({ length: 40 }, () => takeBuffer(2 ** 20))
  const reused = again.filter(({ buffer }) => buffers.has(buffer)).length
  t.ok(reused > 2 && reused <= 4, `${reused} MiB`)
})
