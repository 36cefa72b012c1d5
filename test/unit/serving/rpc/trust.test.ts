/** What an answer needs that was read in a later turn than the one in which its method began. */
import t from 'tap'
import { RequestContext } from '../../../../src/serving/rpc/contexts/requestContext.js'
import {
  doSliced,
  inOneSlice,
  RequestSlices,
  type SlicedWork,
} from '../../../../src/serving/rpc/contexts/requestSlices.js'
import { createDispatcher } from '../../../../src/serving/rpc/dispatch/dispatch.js'
import { defineMethod, type NetworkViews } from '../../../../src/serving/rpc/method.js'
import { wideDispatchLimits } from '../../../transport/serverLimits.js'
import { call, TestNetwork, type TestView } from './testMethods.js'

/** Reads what is only believed. */
let believe = () => {}

function* late(
  caller: RequestContext,
  read: () => string | Promise<string>,
): SlicedWork<string | Promise<string>> {
  const turns = new RequestSlices(0, caller, 0)
  try {
    yield* turns.pause()
    return read()
  } finally {
    turns.end()
  }
}

const readLate = (caller: RequestContext) =>
  doSliced(
    late(caller, () => {
      believe()
      return 'true'
    }),
  )

const shared = { params: [], cost: 'job', price: 1, memo: 'head' } as const
const methods = [
  defineMethod({ ...shared, name: 'test_late', run: (_view: TestView, _args, caller) => readLate(caller) }),
  /** Begins further work in a later turn, which pauses, too. */
  defineMethod({
    ...shared,
    name: 'test_later',
    run: (_view: TestView, _args, caller) => doSliced(late(caller, async () => readLate(caller))),
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
    readFaith: () => {
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
    const names = ['test_late', 'test_proved', 'test_later', 'test_proved']
    const answers = await Promise.all(names.map((name) => ask(call(name))))
    t.strictSame(
      answers.map(({ trust }) => trust),
      ['quorum', undefined, 'quorum', undefined],
      'also when asked again',
    )
  }
  t.equal((await ask(`[${call('test_proved')},${call('test_late')}]`)).trust, 'quorum')
})
