import type { Test } from 'tap'
import { toHash32 } from '../../src/primitives/bytes.js'
import type { Pool } from '../../src/serving/pool/pool.js'
import type { Defect } from '../../src/serving/rpc/answers/wireErrors.js'
import { createDispatcher } from '../../src/serving/rpc/dispatch/dispatch.js'
import { defineMethod, type RpcNetwork } from '../../src/serving/rpc/method.js'
import { optional, required } from '../../src/serving/rpc/params/params.js'
import { HttpServer } from '../../src/serving/transport/http.js'
import { transportOf } from '../transport/eachTransport.js'
import { wideDispatchLimits, wideHttpLimits, wideSocketLimits } from '../transport/serverLimits.js'
import { openTestPool, type TestJobs } from './poolJobs.js'

interface TestNetwork extends RpcNetwork {
  readonly pool: Pool<TestJobs>
}

/** A method that runs one of the test jobs with its only parameter, after `decode`. */
function jobMethod(name: keyof TestJobs, decode: (value: unknown) => unknown) {
  return defineMethod({
    name,
    params: [optional(required(decode), null)],
    cost: 'job',
    ...(name === 'spin' && { jobClass: 'execute' }),
    price: 1,
    memo: 'never',
    run: ({ pool }: TestNetwork, [args], caller) =>
      pool
        .run(name, { network: undefined, args: args as never }, caller)
        .then((result) => JSON.stringify(result)),
  })
}

/** The test jobs as methods of a real server, on a free port. */
export interface PoolServer {
  readonly pool: Pool<TestJobs>
  readonly port: number
  readonly defects: Defect[]
  /** Parameters decoded so far. */
  readonly decoded: unknown[]
}

export async function servePool(
  t: Test,
  poolOptions: Parameters<typeof openTestPool>[0] = {},
  requestMsMax = 30_000,
): Promise<PoolServer> {
  const { pool } = openTestPool(poolOptions)
  await pool.start()
  const defects: Defect[] = []
  const decoded: unknown[] = []
  const logDefect = (defect: Defect) => defects.push(defect)
  const names = ['echo', 'spin', 'work', 'exit', 'throwError', 'throwFault', 'whoAmI'] as const
  const dispatcher = createDispatcher<TestNetwork>({
    methods: names.map((name) =>
      jobMethod(name, (value) => {
        decoded.push(value)
        return value
      }),
    ),
    limits: { ...wideDispatchLimits, requestMsMax },
    log: logDefect,
  })
  const head = { number: 0, hash: toHash32(new Uint8Array(32)), generation: 0 }
  const current: TestNetwork = {
    name: 'test',
    head,
    pool,
    refusal: (jobClass, { keyId }) => (jobClass === 'execute' ? pool.refusal(jobClass, keyId) : undefined),
  }
  const server = new HttpServer({
    transport: transportOf(t),
    host: '127.0.0.1',
    port: 0,
    routes: [
      { name: 'test', endpoint: dispatcher.endpoint({ current, pinned: () => undefined }), hosts: [] },
    ],
    authorize: () => ({ ok: false, reason: 'no key is asked for' }),
    changedKeys: () => [],
    noAuth: true,
    limits: { ...wideHttpLimits, closeMsMax: 100 },
    socketLimits: wideSocketLimits,
    cors: '*',
    pages: new Map(),
    logDefect,
  })
  const port = await server.listen()
  t.teardown(async () => {
    await server.close()
    await pool.close(0)
  })
  return { pool, port, defects, decoded }
}
