/** Methods that change something, on a network that has to fetch their data. */
import t from 'tap'
import { NotStoredError } from '../../../../src/primitives/notStored.js'
import type { Answer } from '../../../../src/serving/rpc/answers/answer.js'
import { createDispatcher } from '../../../../src/serving/rpc/dispatch/dispatch.js'
import { defineMethod, type WhenStored } from '../../../../src/serving/rpc/method.js'
import { methods } from '../../../../src/serving/rpc/registry.js'
import { rollupMethods } from '../../../../src/serving/rpc/rollup/rollupRegistry.js'
import { wideDispatchLimits } from '../../../transport/serverLimits.js'
import { TestNetwork, type TestView } from './testMethods.js'

/** Number of runs and reads of a call so far, and of lacking data. */
const state = { runs: 0, reads: 0, lacks: 0, fetched: 0 }

function read(): string {
  state.reads++
  if (state.lacks-- > 0) throw new NotStoredError({ kind: 'code', hash: new Uint8Array(32) as never })
  return `"${state.reads}"`
}

const later = (value: () => string | Promise<string>): Promise<string> =>
  new Promise<void>((resolve) => setImmediate(resolve)).then(value)

type Run = (whenStored: WhenStored) => string | Promise<string>
const runs: Readonly<Record<string, Run>> = {
  whole: () => read(),
  wholeLater: () => later(read),
  part: (whenStored) => whenStored(read),
  partLater: (whenStored) => later(() => whenStored(() => later(read))),
}

const endpoint = (() => {
  const dispatcher = createDispatcher<TestView>({
    methods: Object.entries(runs).flatMap(([name, run]) =>
      [true, false].map((effect) =>
        defineMethod({
          name: `${effect ? 'effect' : 'read'}_${name}`,
          price: 1,
          effect,
          cost: 'job',
          run(_network: TestView, _args, _context, _turnMsMax, whenStored) {
            state.runs++
            return run(whenStored)
          },
        }),
      ),
    ),
    limits: wideDispatchLimits,
    log: () => undefined,
  })
  const fetchMissing = async () => void state.fetched++
  return dispatcher.endpoint(Object.assign(new TestNetwork(), { fetchMissing }))
})()

async function call(method: string, lacks: number): Promise<{ result?: string; error?: { code: number } }> {
  Object.assign(state, { runs: 0, reads: 0, lacks, fetched: 0 })
  const answer: Answer = await endpoint.handle(Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"${method}"}`))
  return JSON.parse(String(answer.body))
}

for (const name of Object.keys(runs)) {
  t.test(`${name}: what has an effect runs once, and what only reads until it has its data`, async (t) => {
    for (const lacks of [0, 1, 7]) {
      t.match(await call(`read_${name}`, lacks), { result: `${lacks + 1}` })
      t.match(state, { reads: lacks + 1, fetched: lacks })
      const { result, error } = await call(`effect_${name}`, lacks)
      t.equal(state.runs, 1, `${name}, ${lacks} times lacking`)
      if (name.startsWith('part')) {
        t.equal(result, `${lacks + 1}`)
        t.match(state, { reads: lacks + 1, fetched: lacks })
      } else if (lacks > 0) t.equal(error?.code, -32603, 'a defect of the method')
    }
  })
}

t.test('the methods that change something say so', (t) => {
  const all = { ...methods, ...rollupMethods }
  const withEffect = Object.values(all).filter(({ effect }) => effect)
  t.strictSame(withEffect.map(({ name }) => name).sort(), [
    'eth_newBlockFilter',
    'eth_newFilter',
    'eth_newPendingTransactionFilter',
    'eth_sendRawTransaction',
    'eth_sendRawTransactionSync',
    'eth_sendTransaction',
    'eth_sendUnsignedTransaction',
    'eth_subscribe',
    'eth_uninstallFilter',
    'eth_unsubscribe',
    'rollupx_addInvokeTransaction',
    'rollupx_subscribeTransactionStatus',
    'rollupx_unsubscribe',
  ])
  const verbs =
    /_(?:send|submit|add|new|install|uninstall|subscribe|unsubscribe|mine|set|reset|drop)(?![a-z])/
  for (const { name, effect } of Object.values(all)) {
    if (verbs.test(name)) t.ok(effect, name)
  }
  const repeated = { name: 'sends', price: 1, effect: true, memo: 'head', run: () => '1' } as const
  t.throws(() => defineMethod(repeated), RangeError)
  t.end()
})
