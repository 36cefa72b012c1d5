/** The trust of an answer whose data is read in a later turn than the first one of its method. */
import t from 'tap'
import { RequestContext } from '../../../../src/serving/rpc/contexts/requestContext.js'
import { inOneSlice, RequestSlices } from '../../../../src/serving/rpc/contexts/requestSlices.js'
import { createDispatcher } from '../../../../src/serving/rpc/dispatch/dispatch.js'
import { defineMethod, type NetworkViews } from '../../../../src/serving/rpc/method.js'
import { wideDispatchLimits } from '../../../transport/serverLimits.js'
import { call, TestNetwork, type TestView } from './testMethods.js'

/** Reads unproved data. */
let believe = () => {}

const late = (caller: RequestContext, read: () => string | Promise<string>) =>
  new RequestSlices(0, caller, 0).run(read, true)

const readLate = (caller: RequestContext) =>
  late(caller, () => {
    believe()
    return 'true'
  })

/** Reads in the pieces after a promise, which nothing else wraps. */
async function readInPieces(caller: RequestContext): Promise<string> {
  const turns = new RequestSlices(0, caller, 0)
  let pieces = 0
  return turns.run(async () => {
    await new Promise((resolve) => setImmediate(resolve))
    return turns.repeat(() => {
      if (++pieces === 2) believe()
      return pieces === 3 ? 'true' : undefined
    })
  })
}

const shared = { params: [], cost: 'job', price: 1, memo: 'head' } as const
const methods = [
  defineMethod({ ...shared, name: 'test_late', run: (_view: TestView, _args, caller) => readLate(caller) }),
  /** Begins further work in a later turn, which pauses, too. */
  defineMethod({
    ...shared,
    name: 'test_later',
    run: (_view: TestView, _args, caller) => late(caller, async () => readLate(caller)),
  }),
  defineMethod({
    ...shared,
    name: 'test_pieces',
    run: (_view: TestView, _args, caller) => readInPieces(caller),
  }),
  defineMethod({
    ...shared,
    name: 'test_proved',
    run: (_view: TestView, _args, caller) => inOneSlice(new RequestSlices(0, caller, 0), () => '"proved"'),
  }),
]

t.test('what is read after a pause counts, for its own answer alone', async (t) => {
  const network = new TestNetwork()
  let hadFaith = false
  believe = () => {
    hadFaith = true
  }
  const views: NetworkViews<TestView> = {
    current: network.current,
    pinned: () => undefined,
    readEvidence: () => {
      const had = hadFaith
      hadFaith = false
      return had ? ('quorum' as const) : ('proved' as const)
    },
  }
  const { endpoint } = createDispatcher({
    methods,
    limits: wideDispatchLimits,
    log: ({ error }) => t.fail(String(error)),
  })
  const served = endpoint(views)
  const ask = (body: string) => served.handle(Buffer.from(body), new RequestContext())
  for (let round = 0; round < 2; round++) {
    const names = ['test_late', 'test_proved', 'test_later', 'test_proved', 'test_pieces', 'test_proved']
    const answers = await Promise.all(names.map((name) => ask(call(name))))
    t.strictSame(
      answers.map(({ trust }) => trust),
      ['quorum', undefined, 'quorum', undefined, 'quorum', undefined],
      'also when asked again',
    )
  }
  t.equal((await ask(`[${call('test_proved')},${call('test_late')}]`)).trust, 'quorum')
})
