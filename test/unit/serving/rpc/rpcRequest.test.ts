/** Calls that repeatedly lack data. */
import t from 'tap'
import { FaultError } from '../../../../src/primitives/faults.js'
import { NotStoredError } from '../../../../src/primitives/notStored.js'
import { RequestContext } from '../../../../src/serving/rpc/contexts/requestContext.js'
import { fetchesMax, RpcRequest } from '../../../../src/serving/rpc/dispatch/rpcRequest.js'
import { TestNetwork } from './testMethods.js'

const call = { method: 'trace_filter', params: [{}] }
const lacking = () => new NotStoredError({ kind: 'code', hash: new Uint8Array(32) as never })

t.test('a call gets what it lacks, up to a limit that the caller is told', async (t) => {
  let fetches = 0
  const views = Object.assign(new TestNetwork(), { fetchMissing: async () => void fetches++ })
  let lacks = fetchesMax
  const run = () => {
    if (lacks-- > 0) throw lacking()
    return 'done'
  }
  t.equal(await new RpcRequest(views, new RequestContext(), undefined).withFetches(call, run), 'done')
  t.equal(fetches, fetchesMax)
  lacks = Number.POSITIVE_INFINITY
  const refused: unknown = await Promise.resolve(
    new RpcRequest(views, new RequestContext(), undefined).withFetches(call, run),
  ).catch((error) => error)
  t.match(refused instanceof FaultError && refused.fault, {
    kind: 'MessageRefused',
    why: /2000 .*; ask for less at once/,
  })
  t.equal(fetches, 2 * fetchesMax)
})

t.test('nothing is fetched for a caller who has left', async (t) => {
  const caller = new RequestContext()
  caller.finish()
  const views = Object.assign(new TestNetwork(), {
    fetchMissing: async () => void t.fail('something is fetched'),
  })
  const run = () => {
    throw lacking()
  }
  await t.rejects(async () => new RpcRequest(views, caller, undefined).withFetches(call, run), lacking())
})
