import { FaultError } from '../../../src/primitives/faults.js'
import type { Answer, AnswerBody } from '../../../src/rpc/answer.js'
import {
  createDispatcher,
  type DispatchLimits,
  defaultDispatchLimits,
  type Endpoint,
} from '../../../src/rpc/dispatch.js'
import { defineMethod, type Json, type Param, type RpcNetwork } from '../../../src/rpc/method.js'
import { boolean, optional, position } from '../../../src/rpc/params.js'
import type { Defect } from '../../../src/rpc/wireErrors.js'

/** A network whose head a test moves, and which counts what was run on it. */
export class TestNetwork implements RpcNetwork {
  readonly name = 'testnet'
  readonly head = { generation: 1 }
  runs = 0
  /** Settles every call of `test_job` that waits. */
  readonly jobs: { resolve(json: Json): void; reject(error: unknown): void }[] = []
}

const anything: Param<unknown> = { required: false, fallback: null, decode: (value) => value }

/** Methods of every kind: pure and not, text and bytes, at once and later, with and without faults. */
export const testMethods = [
  defineMethod({
    name: 'test_echo',
    params: [anything, anything],
    cost: 'inline',
    memo: 'head',
    run: (network: TestNetwork, args) => {
      network.runs++
      return JSON.stringify(args)
    },
  }),
  defineMethod({
    name: 'test_bytes',
    params: [position],
    cost: 'inline',
    memo: 'head',
    run: (network: TestNetwork, [length]) => {
      network.runs++
      return Buffer.from(JSON.stringify('é'.repeat(length)))
    },
  }),
  defineMethod({
    name: 'test_null',
    params: [optional(boolean, false)],
    cost: 'inline',
    memo: 'head',
    run: (network: TestNetwork, [asBytes]) => {
      network.runs++
      return asBytes ? Buffer.from('null') : 'null'
    },
  }),
  defineMethod({
    name: 'test_count',
    params: [],
    cost: 'inline',
    memo: 'never',
    run: (network: TestNetwork) => String(++network.runs),
  }),
  defineMethod({
    name: 'test_subscriber',
    params: [],
    cost: 'inline',
    memo: 'never',
    run: (_network: TestNetwork, _args, { subscriber }) => String(subscriber !== undefined),
  }),
  defineMethod({
    name: 'test_fault',
    params: [],
    cost: 'inline',
    memo: 'head',
    run: (): Json => {
      throw new FaultError({ kind: 'HeaderNotFound' })
    },
  }),
  defineMethod({
    name: 'test_busy',
    params: [],
    cost: 'inline',
    memo: 'head',
    run: (): Json => {
      throw new FaultError({ kind: 'ServerBusy', retryAfterMs: 1500 })
    },
  }),
  defineMethod({
    name: 'test_defect',
    params: [],
    cost: 'inline',
    memo: 'head',
    run: (): Json => {
      throw new Error('a secret')
    },
  }),
  defineMethod({
    name: 'test_job',
    params: [optional(position, 0)],
    cost: 'job',
    memo: 'head',
    run: (network: TestNetwork): Promise<Json> => {
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
  ask(body: string | Uint8Array): string
  askLater(body: string | Uint8Array): Promise<string>
}

export function createTestEndpoint(limits: Partial<DispatchLimits> = {}): TestEndpoint {
  const network = new TestNetwork()
  const defects: Defect[] = []
  const dispatcher = createDispatcher({
    methods: testMethods,
    limits: { ...defaultDispatchLimits, ...limits },
    log: (defect) => defects.push(defect),
  })
  const endpoint = dispatcher.endpoint(network)
  const bytes = (body: string | Uint8Array) => (typeof body === 'string' ? Buffer.from(body) : body)
  return {
    network,
    endpoint,
    defects,
    ask: (body) => {
      const answer = endpoint.handle(bytes(body))
      if (answer instanceof Promise) throw new Error('a promise where an answer at once was expected')
      return bodyText(answer)
    },
    askLater: async (body) => bodyText(await endpoint.handle(bytes(body))),
  }
}

export function bodyText({ body }: Pick<Answer, 'body'>): string {
  return piecesToBytes(body).toString('utf8')
}

function piecesToBytes(body: AnswerBody): Buffer {
  if (typeof body === 'string') return Buffer.from(body)
  return Buffer.concat(body.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)))
}
