/** Calls that lack data again and again. */
import t from 'tap'
import { FaultError } from '../../../src/primitives/faults.js'
import { NotHeldError } from '../../../src/primitives/notHeld.js'
import { Caller } from '../../../src/rpc/callers/caller.js'
import { runSupplied, suppliesMax } from '../../../src/rpc/dispatch/supplied.js'
import { TestNetwork } from './testMethods.js'

const call = { method: 'trace_filter', params: [{}] }
const lacking = () => new NotHeldError({ kind: 'code', hash: new Uint8Array(32) as never })

t.test('a call gets what it lacks, up to a limit that the caller is told', async (t) => {
  let supplies = 0
  const views = Object.assign(new TestNetwork(), { supply: async () => void supplies++ })
  let lacks = suppliesMax
  const run = () => {
    if (lacks-- > 0) throw lacking()
    return 'done'
  }
  t.equal(await runSupplied(views, new Caller(), call, run), 'done')
  t.equal(supplies, suppliesMax)
  lacks = Number.POSITIVE_INFINITY
  const refused: unknown = await Promise.resolve(runSupplied(views, new Caller(), call, run)).catch(
    (error) => error,
  )
  t.match(refused instanceof FaultError && refused.fault, {
    kind: 'MessageRefused',
    why: /2000 .*; ask for less at once/,
  })
  t.equal(supplies, 2 * suppliesMax)
})

t.test('nothing is fetched for a caller who has left', async (t) => {
  const caller = new Caller()
  caller.leave()
  const views = Object.assign(new TestNetwork(), { supply: async () => void t.fail('something is fetched') })
  const run = () => {
    throw lacking()
  }
  await t.rejects(async () => runSupplied(views, caller, call, run), lacking())
})
