import t from 'tap'
import { SearchProgress } from '../../../../src/sources/ingest/gateway/searchProgress.js'

t.test('a search that fetches for long is told each five seconds, a short one not at all', async (t) => {
  const said: string[] = []
  let nowMs = 0
  const progress = new SearchProgress(
    (text) => said.push(text),
    () => nowMs,
  )
  for (let number = 0; number < 1_300; number += 100, nowMs += 1_000) {
    progress.note({ number, first: 0, last: 5_000 })
    // Others, each of a block of its own.
    progress.note({ number, first: number, last: number })
  }
  const line = (number: number) =>
    `a search for logs in blocks 0 to 5000 is at block ${number}; it fetches receipts, which stay for later searches`
  t.strictSame(said, [line(500), line(1_000)])
  nowMs += 61_000
  progress.note({ number: 7, first: 0, last: 5_000 })
  t.equal(said.length, 2, 'the same blocks are searched anew')
  nowMs += 20_000
  progress.note({ number: 8, first: 0, last: 5_000 })
  t.equal(said[2], line(8), 'though one batch takes long')
})
