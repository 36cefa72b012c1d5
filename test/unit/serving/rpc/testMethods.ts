import { type Hash32, toHash32 } from '../../../../src/primitives/bytes.js'
import { FaultError } from '../../../../src/primitives/faults.js'
import type { EdgeCounts } from '../../../../src/serving/metrics/edgeCounts.js'
import type { Answer, AnswerBody } from '../../../../src/serving/rpc/answers/answer.js'
import type { Defect } from '../../../../src/serving/rpc/answers/wireErrors.js'
import { createDispatcher } from '../../../../src/serving/rpc/dispatch/dispatch.js'
import type { DispatchLimits, Endpoint } from '../../../../src/serving/rpc/dispatch/endpoint.js'
import {
  defineMethod,
  type Json,
  type NetworkViews,
  type RpcHead,
  type RpcNetwork,
} from '../../../../src/serving/rpc/method.js'
import { anything, boolean, list, optional, position } from '../../../../src/serving/rpc/params/params.js'
import { wideDispatchLimits } from '../../../transport/serverLimits.js'

/** A network whose head a test moves, and which counts its runs. Its blocks are 0 to {@link blocksMax}. */
export class TestNetwork implements NetworkViews<TestView> {
  /** A block for each generation of the head. */
  readonly head = { generation: 1 }
  runs = 0
  /** Settles every call of `test_job` that waits. */
  readonly jobs: { resolve(json: Json): void; reject(error: unknown): void }[] = []
  #current: TestView | undefined

  get current(): TestView {
    const { generation } = this.head
    if (this.#current?.head.generation !== generation) this.#current = this.#viewOf(generation)
    return this.#current as TestView
  }

  pinned(hash: Hash32): TestView | undefined {
    const number = hash[0] as number
    return number <= blocksMax && hash.every((byte) => byte === number) ? this.#viewOf(number) : undefined
  }

  #viewOf(number: number): TestView {
    return {
      name: 'testnet',
      head: { number, hash: testHash(number), generation: this.head.generation },
      network: this,
    }
  }
}

/** The view of the network for methods. */
export interface TestView extends RpcNetwork {
  readonly head: RpcHead
  readonly network: TestNetwork
}

const blocksMax = 100

/** The hash of block `number`: that byte, 32 times. */
export function testHash(number: number): Hash32 {
  return toHash32(new Uint8Array(32).fill(number))
}

const anyValue = optional(anything, null)

/** Methods of every kind: pure and not, text and bytes, at once and later, with and without faults. */
export const testMethods = [
  defineMethod({
    name: 'test_echo',
    params: [anyValue, anyValue],
    cost: 'inline',
    price: 1,
    memo: 'head',
    run: ({ network }: TestView, args) => {
      network.runs++
      return JSON.stringify(args)
    },
  }),
  defineMethod({
    name: 'test_bytes',
    params: [position],
    cost: 'inline',
    price: 1,
    memo: 'head',
    run: ({ network }: TestView, [length]) => {
      network.runs++
      return Buffer.from(JSON.stringify('é'.repeat(length)))
    },
  }),
  defineMethod({
    name: 'test_null',
    params: [optional(boolean, false)],
    cost: 'inline',
    price: 1,
    memo: 'head',
    run: ({ network }: TestView, [asBytes]) => {
      network.runs++
      return asBytes ? Buffer.from('null') : 'null'
    },
  }),
  defineMethod({
    name: 'test_count',
    params: [],
    cost: 'inline',
    price: 1,
    memo: 'never',
    run: ({ network }: TestView) => String(++network.runs),
  }),
  defineMethod({
    name: 'test_block',
    params: [],
    cost: 'inline',
    price: 1,
    memo: 'head',
    run: ({ head, network }: TestView) => {
      network.runs++
      return String(head.number)
    },
  }),
  defineMethod({
    name: 'test_later',
    params: [],
    cost: 'job',
    price: 1,
    memo: 'head',
    run: async ({ head, network }: TestView) => {
      network.runs++
      await new Promise((resolve) => setImmediate(resolve))
      return String(head.number)
    },
  }),
  /** Blocks the thread for this number of milliseconds. */
  defineMethod({
    name: 'test_spin',
    params: [anyValue],
    cost: 'inline',
    price: 1,
    memo: 'never',
    run: ({ network }: TestView, [ms]) => {
      network.runs++
      const endMs = performance.now() + Number(ms)
      while (performance.now() < endMs);
      return 'true'
    },
  }),
  defineMethod({
    name: 'test_dear',
    params: [anyValue],
    cost: 'inline',
    price: 30,
    memo: 'head',
    run: ({ network }: TestView) => {
      network.runs++
      return '"dear"'
    },
  }),
  defineMethod({
    name: 'test_items',
    params: [list('items')],
    cost: 'job',
    price: ([items]) => 2 + items.length,
    memo: 'head',
    run: async ({ network }: TestView, [items]) => {
      network.runs++
      return String(items.length)
    },
  }),
  defineMethod({
    name: 'test_subscriber',
    params: [],
    cost: 'inline',
    price: 1,
    memo: 'never',
    run: (_view: TestView, _args, { subscriber }) => String(subscriber !== undefined),
  }),
  defineMethod({
    name: 'test_work',
    params: [position],
    cost: 'job',
    price: 30,
    memo: 'head',
    /** Makes a thread work for this number of hundredths of a millisecond. */
    run: async ({ network }: TestView, [units], caller) => {
      network.runs++
      await new Promise((resolve) => setImmediate(resolve))
      caller.ran(units / 100)
      return 'true'
    },
  }),
  defineMethod({
    name: 'test_keyId',
    params: [],
    cost: 'inline',
    price: 1,
    memo: 'never',
    run: (_view: TestView, _args, { keyId }) => JSON.stringify(keyId),
  }),
  defineMethod({
    name: 'test_fault',
    params: [],
    cost: 'inline',
    price: 1,
    memo: 'head',
    run: (): Json => {
      throw new FaultError({ kind: 'HeaderNotFound' })
    },
  }),
  defineMethod({
    name: 'test_busy',
    params: [],
    cost: 'inline',
    price: 1,
    memo: 'head',
    run: (): Json => {
      throw new FaultError({ kind: 'ServerBusy', retryAfterMs: 1500 })
    },
  }),
  defineMethod({
    name: 'test_defect',
    params: [],
    cost: 'inline',
    price: 1,
    memo: 'head',
    run: (): Json => {
      throw new Error('a secret')
    },
  }),
  defineMethod({
    name: 'test_job',
    params: [optional(position, 0)],
    cost: 'job',
    price: 1,
    memo: 'head',
    run: ({ network }: TestView): Promise<Json> => {
      network.runs++
      return new Promise((resolve, reject) => network.jobs.push({ resolve, reject }))
    },
  }),
] as const

export interface TestEndpoint {
  readonly network: TestNetwork
  readonly endpoint: Endpoint
  readonly defects: Defect[]
  /** Asks and renders the answer to text. */
  ask(body: string | Uint8Array, at?: string): string
  askLater(body: string | Uint8Array, at?: string): Promise<string>
}

export function createTestEndpoint(
  limits: Partial<DispatchLimits> = {},
  views: Pick<NetworkViews<TestView>, 'fetchMissing' | 'relay'> = {},
  counts?: EdgeCounts,
): TestEndpoint {
  const network = Object.assign(new TestNetwork(), views)
  const defects: Defect[] = []
  const dispatcher = createDispatcher({
    methods: testMethods,
    limits: { ...wideDispatchLimits, ...limits },
    log: (defect) => defects.push(defect),
    counts,
  })
  const endpoint = dispatcher.endpoint(network)
  const bytes = (body: string | Uint8Array) => (typeof body === 'string' ? Buffer.from(body) : body)
  return {
    network,
    endpoint,
    defects,
    ask: (body, at) => {
      const answer = endpoint.handle(bytes(body), undefined, at)
      if (answer instanceof Promise) throw new Error('a promise where an answer at once was expected')
      return bodyText(answer)
    },
    askLater: async (body, at) => bodyText(await endpoint.handle(bytes(body), undefined, at)),
  }
}

export function bodyText({ body }: Pick<Answer, 'body'>): string {
  return piecesToBytes(body).toString('utf8')
}

function piecesToBytes(body: AnswerBody): Buffer {
  if (typeof body === 'string') return Buffer.from(body)
  return Buffer.concat(body.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)))
}

/** Requests and answers as text. */
export const call = (method: string, params = '[]', id = '1') =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`
export const result = (json: string, id = '1') => `{"jsonrpc":"2.0","id":${id},"result":${json}}`
export const failure = (code: number, message: string, id = '1') =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":${JSON.stringify(message)}}}`
