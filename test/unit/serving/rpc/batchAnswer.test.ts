import fc from 'fast-check'
import t from 'tap'
import { BatchAnswer } from '../../../../src/serving/rpc/dispatch/batch.js'
import { propertyRuns } from '../../../library/property.js'
import { bodyText } from './testMethods.js'

const content = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.nat(600).map((length) => 'x'.repeat(length)),
)
const body = fc.oneof(
  content.map((text) => JSON.stringify(text)),
  content.map((text) => ['"', Buffer.from(text), '"']),
)
const entry = fc.oneof(
  { weight: 6, arbitrary: body.map((result) => ({ result })) },
  { weight: 1, arbitrary: fc.constant({ error: '"error"' }) },
  { weight: 1, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.nat(100).map((unsent) => ({ unsent })) },
)
const tooLarge = (place: number) => `"${place} is too large"`
const textOf = (part: string | (string | Buffer)[]) => bodyText({ body: part })

t.test(
  'whatever order answers come in, they stand in theirs, and long ones end at the first that does not fit',
  async (t) => {
    fc.assert(
      fc.property(
        fc.array(entry, { maxLength: 30 }).chain((entries) =>
          fc.record({
            entries: fc.constant(entries),
            order: fc.shuffledSubarray([...entries.keys()], { minLength: entries.length }),
            bytesMax: fc.nat(2_000),
          }),
        ),
        ({ entries, order, bytesMax }) => {
          const answer = new BatchAnswer(entries.length, bytesMax)
          for (const place of order) {
            const given = entries[place]
            if (given === undefined) continue
            if ('error' in given) answer.putError(place, given.error)
            else if ('unsent' in given) answer.countUnsent(place, given.unsent)
            else answer.putResult(place, given.result)
          }
          const parts: string[] = []
          let bytes = 0
          let isOver = false
          for (const [place, given] of entries.entries()) {
            if (given === undefined) continue
            if ('unsent' in given) {
              bytes += given.unsent
              continue
            }
            let text = 'error' in given ? given.error : textOf(given.result)
            if ('result' in given) {
              isOver ||= bytes + Buffer.byteLength(text) + 1 > bytesMax
              // The error would save less than that.
              if (isOver && Buffer.byteLength(text) - tooLarge(place).length >= 256) text = tooLarge(place)
            }
            bytes += Buffer.byteLength(text) + 1
            parts.push(text)
          }
          const expected = parts.length === 0 ? '' : `[${parts.join(',')}]`
          const got = bodyText({ body: answer.finish(tooLarge) })
          if (got !== expected) throw new Error(`${got} but ${expected}`)
        },
      ),
      propertyRuns(2000),
    )
    t.pass('all agree')
  },
)
