/** Long calls, which a thread answers whole, beside the same calls without their padding, which the edge reads. */
import t, { type Test } from 'tap'
import { Meter } from '../../../../src/serving/access/meter.js'
import { RequestContext } from '../../../../src/serving/rpc/contexts/requestContext.js'
import { offloadedMethods } from '../../../../src/serving/rpc/dispatch/offloadedCall.js'
import type { NetworkViews } from '../../../../src/serving/rpc/method.js'
import type { Network } from '../../../../src/serving/rpc/network.js'
import { longCallBytesMin } from '../../../../src/serving/rpc/reading/bodyScan.js'
import { methods } from '../../../../src/serving/rpc/registry.js'
import { examples, headBlock } from '../../../rpc/demoChain.js'
import { demoEndpoint, opened } from './demoRig.js'
import { bodyText } from './testMethods.js'

const addressOf = (name: string) =>
  [...examples.contracts, ...examples.accounts].find((each) => each.name === name)?.address ?? ''
const [tide, bea, cal] = ['Tide', 'bea', 'cal'].map(addressOf) as [string, string, string]
const word = (n: number) => `0x${n.toString(16).padStart(64, '0')}`

/** Methods of calls that threads answered. */
let handedOver: string[] = []
const counted = (view: Network): Network => {
  const answerOffloaded: Network['answerOffloaded'] = (call, caller) => {
    handedOver.push(call.method)
    return (view.answerOffloaded as NonNullable<Network['answerOffloaded']>)(call, caller)
  }
  return Object.create(view, { answerOffloaded: { value: answerOffloaded } })
}
const current = counted(opened.current)
const views: NetworkViews<Network> = {
  current,
  pinned: (hash) => {
    const view = opened.pinned(hash)
    return view && counted(view)
  },
}
const endpoint = demoEndpoint(views)
/** Without threads that answer calls whole. */
const plain = demoEndpoint({
  current: Object.create(opened.current, { answerOffloaded: { value: undefined } }),
  pinned: (hash) => {
    const view = opened.pinned(hash)
    return view && Object.create(view, { answerOffloaded: { value: undefined } })
  },
})

const padding = ' '.repeat(longCallBytesMin)
const isWhite = (body: string) => body.replace('PADDING', padding)

/** Answers of both, which have to be equal; `PADDING` in the body makes it long. */
async function ask(t: Test, body: string, calls: readonly string[], at?: string): Promise<string> {
  handedOver = []
  const long = Buffer.from(isWhite(body))
  const own = Buffer.alloc(long.length, long)
  const answers = await Promise.all([
    endpoint.handle(long, new RequestContext(), at),
    endpoint.handle(own, new RequestContext(), at, true),
  ])
  t.same(handedOver.sort(), [...calls, ...calls].sort(), `threads answered ${body.slice(0, 100)}`)
  const expected = await plain.handle(long, new RequestContext(), at)
  for (const answer of answers) {
    t.equal(bodyText(answer), bodyText(expected), body.slice(0, 200))
    t.equal(answer.status, expected.status)
    t.equal(answer.block, expected.block)
  }
  return bodyText(expected)
}

const transfer = `0xa9059cbb${'0'.repeat(24)}${cal.slice(2)}${'1'.padStart(64, '0')}`
const older = `0x${(headBlock.number - 3).toString(16)}`
const questions: readonly (readonly [string, unknown[]])[] = [
  ['eth_call', [{ from: bea, to: tide, data: transfer }, 'latest']],
  ['eth_call', [{ from: bea, to: cal, value: '0x1' }]],
  ['eth_call', [{ to: tide, data: transfer }, older]],
  ['eth_call', [{ to: tide, data: '0xzz' }]],
  ['eth_call', [{ to: tide }, '0xffffff']],
  ['eth_call', [{ to: tide, chainId: '0x7' }]],
  ['eth_call', []],
  ['eth_estimateGas', [{ from: bea, to: tide, data: transfer }]],
  ['eth_estimateGas', [{ from: bea, to: cal }, 'pending']],
  ['eth_createAccessList', [{ from: bea, to: tide, data: transfer }, 'latest']],
  ['eth_simulateV1', [{ blockStateCalls: [{ calls: [{ from: bea, to: tide, data: transfer }] }] }, 'latest']],
  ['eth_simulateV1', [{ blockStateCalls: [] }]],
  ['eth_getProof', [tide, [word(3), '0x4'], 'latest']],
  ['eth_getProof', [tide, ['0xnone'], older]],
  ['eth_getProof', [tide, Array(1_025).fill('0x1'), older]],
  ['eth_getProof', [bea, [], 'earliest']],
  ['tidegate_getMappingSlot', [Array.from({ length: 500 }, (_, i) => [word(i), word(1)]), '0x3']],
  ['tidegate_getMappingSlot', [['tide', 'é\u0000'], '0x3', 'string']],
  ['tidegate_getMappingSlot', [[...Array(300).fill(1), 'none'], '0x3']],
  ['tidegate_getStorageByKeys', [tide, '0x3', [bea, cal, ...Array(300).fill('0x1')], 'latest']],
  ['tidegate_getStorageByKeys', [tide, '0x3', ['Tidé', 'ebb'], older, 'string']],
]
const rpc = (method: string, params: unknown[], id = '1') =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}",PADDING"params":${JSON.stringify(params)}}`

t.test('every method that threads answer whole is theirs, and theirs alone', async (t) => {
  const declared = Object.values(methods).filter(({ jobClass }) => jobClass !== undefined)
  t.same(new Set(offloadedMethods.values()), new Set(declared))
  t.same(new Set(questions.map(([method]) => method)), new Set(offloadedMethods.keys()))
})

t.test('a long call is answered as a short one is', async (t) => {
  for (const [method, params] of questions) await ask(t, rpc(method, params), [method])
})

t.test('of a long call its id, its pin and its last members count', async (t) => {
  const proof = `"params":["${tide}",["0x3"]]`
  const call = (members: string) => `{"jsonrpc":"2.0",${members}}`
  const hash = current.chain.resolve({ kind: 'number', number: headBlock.number - 2 }, 0)?.hash
  const pin = `"at":"0x${Buffer.from(hash ?? []).toString('hex')}"`
  for (const members of [
    `PADDING "id":"\\u0031é",${proof},"method":"eth_getProof"`,
    `"id":12345678901234567890, "method":"eth_getProof",PADDING${proof}`,
    `"id":null,"method":"eth_getProof",${proof}PADDING`,
    `PADDING"method":"eth_getProof",${proof}`,
    `"id":1,"method":"eth_call","\\u006dethod" :PADDING"eth_getProof",${proof}`,
    `"id":1,"id":PADDING 2,"method":"eth_getProof","params":[],${proof},"more":[{}]`,
    `"id":1,"method":"eth_getProof",${pin},${proof}PADDING`,
    `"id":1,"method":"eth_getProof","at":"latest",${proof}PADDING`,
    `"id":1,"method":"eth_getProof","at":"yesterday",${proof}PADDING`,
    `"id":1,"method":"eth_getProof","at":{},${proof}PADDING`,
  ]) {
    const isPinWrong = /yesterday|\{\},"params/.test(members)
    await ask(t, call(members), isPinWrong ? [] : ['eth_getProof'])
  }
  await ask(t, call(`"id":1,"method":"eth_getProof",${proof}PADDING`), ['eth_getProof'], pin.slice(6, -1))
})

t.test('what is no call, or needs no thread, is read where it came', async (t) => {
  for (const body of [
    rpc('eth_chainId', []),
    rpc('eth_none', []),
    rpc('eth_getProof', [], '{}'),
    rpc('eth_getProof', []).replace('2.0', '1.0'),
    '[PADDING]',
    'PADDING"eth_getProof"',
  ]) {
    await ask(t, body, [])
  }
})

t.test('a long call that is no JSON makes its request none', async (t) => {
  const broken = rpc('eth_getProof', [tide, ['0x3']]).replace('["0x3"]', '["0x3",]')
  const good = rpc('eth_getProof', [tide, ['0x3']])
  const parseError = /^\{"jsonrpc":"2.0","id":null,"error":\{"code":-32700/
  t.match(await ask(t, broken, ['eth_getProof']), parseError)
  t.match(await ask(t, `${good} 1`, []), parseError)
  t.match(await ask(t, good.replace('"id":1', '"id":1,"more":nul'), ['eth_getProof']), parseError)
  t.match(await ask(t, good.replace('"id":1', '"id":01'), []), parseError)
  t.match(await ask(t, good.replace('"id":1', '"id" 1'), []), parseError)
  const short = rpc('eth_chainId', []).replace('PADDING', '')
  for (const batch of [`[${broken},${short}]`, `[${good.replace('PADDING', '')},${broken}]`]) {
    t.match(await ask(t, batch, ['eth_getProof']), parseError)
  }
})

t.test('long calls of a batch are answered in their places', async (t) => {
  const calls = questions.slice(0, 8).map(([method, params], at) => rpc(method, params, String(at)))
  const batch = `[${calls.map(isWhite).join(', ')},${rpc('eth_chainId', []).replace('PADDING', '')}]`
  const answer = await ask(
    t,
    batch,
    questions.slice(0, 8).map(([method]) => method),
  )
  t.same(
    JSON.parse(answer).map(({ id }: { id: number }) => id),
    [0, 1, 2, 3, 4, 5, 6, 7, 1],
  )
})

t.test('a long call costs what a short one does', async (t) => {
  for (const [method, params] of [
    ['eth_getProof', [tide, Array.from({ length: 600 }, (_, at) => word(at))]],
    ['tidegate_getMappingSlot', [Array(3_000).fill(1), '0x3']],
    ['eth_call', [{ to: bea }]],
    ['eth_getProof', ['0x']],
  ] as const) {
    const spent = await Promise.all(
      [endpoint, plain].map(async (over) => {
        // Nothing flows in, and what threads take is paid by the price.
        const meter = new Meter(undefined, () => 1_000)
        const allowance = meter.bucketOf('0123456789ab', 0, { perSecond: 1, burst: 100_000 })
        let units = 0
        const charge = (more: number) => {
          units += more
          return allowance.charge(more)
        }
        const debit = (more: number) => {
          units += more
        }
        const identity = { key: { id: '0123456789ab' }, allowance: { unitsPerSecond: 1, charge, debit } }
        const caller = new RequestContext(undefined, identity)
        caller.ran = () => undefined
        await over.handle(Buffer.from(isWhite(rpc(method, [...params]))), caller)
        return units
      }),
    )
    t.equal(spent[0], spent[1], method)
  }
})

t.test('what is owed for work counts towards a price that becomes known later', async (t) => {
  for (const [cpuMs, late, owed] of [
    [0, 40, 40],
    [0.05, 40, 40],
    [0.3, 40, 40],
    [0.9, 40, 89],
  ] as const) {
    let units = 0
    const debit = (more: number) => {
      units += more
    }
    const allowance = { unitsPerSecond: 1, charge: () => 0, debit }
    const caller = new RequestContext(undefined, { key: { id: '0123456789ab' }, allowance })
    caller.charge(1)
    caller.ran(cpuMs)
    caller.chargeLate(late)
    t.equal(units, owed, `${cpuMs} ms`)
  }
})
