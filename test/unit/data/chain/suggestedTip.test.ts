import t from 'tap'
import { suggestTip } from '../../../../src/data/chain/suggestedTip.js'

t.test(
  'up to forty blocks without a sample are read, and never the genesis or what is below it',
  async (t) => {
    for (const head of [0, 1, 3, 20, 21, 39, 40, 1_000]) {
      const read: number[] = []
      const suggesting = suggestTip(head, 1, (number) => {
        read.push(number)
        return undefined
      })
      let step = suggesting.next()
      while (step.done !== true) step = suggesting.next()
      t.equal(step.value, 1_000_000n, 'where blocks give no sample')
      t.strictSame(
        read,
        Array.from({ length: Math.min(head, 40) }, (_, at) => head - at),
        `of head ${head}`,
      )
    }
  },
)
