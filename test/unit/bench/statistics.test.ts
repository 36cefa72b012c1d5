import fc from 'fast-check'
import t from 'tap'
import { latenciesOf, median, percentile, spread } from '../../../bench/report/statistics.js'
import { propertyRuns } from '../../library/property.js'

t.test('a percentile is the value that so many others do not exceed', async (t) => {
  const sorted = Array.from({ length: 1000 }, (_, at) => at + 1)
  t.equal(percentile(sorted, 0.5), 500)
  t.equal(percentile(sorted, 0.975), 975)
  t.equal(percentile(sorted, 0.99), 990)
  fc.assert(
    fc.property(
      fc.array(fc.nat(), { minLength: 20, maxLength: 200 }),
      fc.double({ min: 0.01, max: 0.7, noNaN: true }),
      (values, share) => {
        values.sort((a, b) => a - b)
        const found = percentile(values, share) as number
        const below = values.filter((value) => value <= found).length
        const strictlyBelow = values.filter((value) => value < found).length
        return below >= values.length * share && strictlyBelow < values.length * share
      },
    ),
    propertyRuns(200),
  )
})

t.test('a percentile of too few values is not told', async (t) => {
  const { p50, p975, p99, p999 } = latenciesOf(Array.from({ length: 500 }, (_, at) => 500 - at))
  t.equal(p50, 250)
  t.equal(p975, 488)
  t.equal(p99, 495)
  t.equal(p999, undefined)
  t.equal(latenciesOf([]).p50, undefined)
})

t.test('median and spread of some rounds', async (t) => {
  t.equal(median([3, 1, 2]), 2)
  t.equal(median([4, 1, 3, 2]), 2)
  t.equal(median([undefined, 7]), 7)
  t.equal(median([]), undefined)
  t.equal(spread([90, 100, 110]), 0.2)
  t.equal(spread([5]), 0)
})
