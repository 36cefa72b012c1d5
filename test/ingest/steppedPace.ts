/**
 * Loaded into a program before anything else: its replay waits for a test instead of the clock. The other side is
 * `steppedReplay.ts`, which describes the protocol.
 */
import { once } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import { connect } from 'node:net'
import timers from 'node:timers/promises'
import { isMainThread, workerData } from 'node:worker_threads'

if (!isMainThread && workerData?.replay !== undefined) {
  const test = connect(Number(process.env.STEPS_PORT), '127.0.0.1').unref()
  // A test that ends closes its side of the connection.
  test.on('error', () => {})
  let granted = 0
  const wait = async (_ms?: number, value?: unknown, { signal }: { signal?: AbortSignal } = {}) => {
    test.write('.')
    while (granted === 0) granted += (await once(test, 'data', { signal }))[0].length
    granted--
    return value
  }
  timers.setTimeout = wait as typeof timers.setTimeout
  syncBuiltinESMExports()
}
