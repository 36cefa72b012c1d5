// @shares
/**
 * Repeats the recorded calls to op-geth on its OP Stack chains. Estimates are the least gas, and at most op-geth's,
 * which are within 1.5 %. Different answers are in optimismDifferences.json, each with its reason. Skipped without the
 * chains.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { emptyCodeHash } from '../../../src/primitives/keccak.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { readByClients } from '../../clients/opStack.js'
import {
  type OptimismCall,
  optimismBlocks,
  optimismCalls,
  skipsOptimism,
} from '../../ingest/optimismChain.js'
import { serveOptimism } from '../../ingest/optimismServed.js'
import { someOf } from '../../library/property.js'
import type { RpcAnswer } from '../../service/service.js'

interface Difference {
  readonly method: string
  /** Text of the parameters, or its beginning. */
  readonly params: string
  readonly reason: string
}

const differences: readonly Difference[] = JSON.parse(
  readFileSync(join(packageRoot(), 'test/conformance/optimismDifferences.json'), 'utf8'),
)

function reasonOf({ method, params }: OptimismCall): string | undefined {
  const text = JSON.stringify(params)
  return differences.find((known) => known.method === method && text.startsWith(known.params))?.reason
}

for (const name of ['a', 'karst-approx']) {
  t.test(`what op-geth was asked of chain ${name}`, { skip: skipsOptimism }, async (t) => {
    const service = await serveOptimism(t, name)
    t.teardown(() => service.stop())
    const others: string[] = []
    for (const call of someOf(optimismCalls(name), 500)) {
      const { method, params } = call
      const answer = await service.call(method, params)
      const isSame = method === 'eth_estimateGas' ? isLeast(call, answer) : isAlike(call, answer)
      if (isSame) continue
      const text = `${method} ${JSON.stringify(params).slice(0, 200)}`
      const reason = reasonOf(call)
      if (reason === undefined) t.fail(text, { found: short(answer), wanted: short(call) })
      else others.push(`${text}: ${reason}`)
      if (method === 'debug_traceBlockByNumber') {
        t.strictSame(withoutGone(answer.result), withoutGone(call.result as never), text)
      }
    }
    t.ok(others.length <= 30, `${others.length} are others`)
    for (const other of others) t.comment(other)
    if (name !== 'a') return
    // At each fork: the block before, the first, and one with its fees.
    const numbers = [5, 19, 20, 47, 48, 51, 79, 80, 83, 106, 130, 162, 175, 204, 210, 240]
    await readByClients(t, service.origin, 901, optimismBlocks(name), numbers)
  })
}

/** Two errors are equal if code and message are, except for the gas cap, which op-geth's message has as a number. */
function isAlike(wanted: OptimismCall, { result, error }: RpcAnswer): boolean {
  if (wanted.error !== undefined || error !== undefined) {
    return isDeepStrictEqual(withoutCap(error), withoutCap(wanted.error))
  }
  return isDeepStrictEqual(plain(result), plain(wanted.result))
}

function isLeast(wanted: OptimismCall, answer: RpcAnswer): boolean {
  if (wanted.error !== undefined || answer.error !== undefined) return isAlike(wanted, answer)
  return BigInt(answer.result) <= BigInt(String(wanted.result))
}

type Post = Readonly<Record<string, Record<string, unknown>>>

/** Without entries that go-ethereum changed in 1.17.6: a transaction that leaves no code. */
function withoutGone(traces: readonly { readonly result: { readonly post: Post } }[]): unknown {
  const noCode = ['0x', `0x${'0'.repeat(64)}`, bytesToHex(emptyCodeHash)]
  return traces.map(({ result, ...trace }) => {
    const post = Object.entries(result.post)
      .map(([address, account]) => {
        const members = Object.entries(account).filter(([, value]) => !noCode.includes(String(value)))
        return [address, Object.fromEntries(members)] as const
      })
      .filter(([, account]) => Object.keys(account).length > 0)
    return { ...trace, result: { ...result, post: Object.fromEntries(post) } }
  })
}

/** op-geth had a cap of 50 million gas; here it is ten blocks' gas. */
function withoutCap(error: RpcAnswer['error']): unknown {
  if (error === undefined) return undefined
  const message = error.message
    .replace(/ \(supplied gas (50|300|350|400|600)0{6}\)$/, '')
    .replace(/^failed with (50|60)0{6} gas/, 'failed')
  return { ...error, message }
}

/** Compares without the member that only this program adds to blocks. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (value === null || typeof value !== 'object') return value
  const { totalDifficulty: _, ...rest } = value as Record<string, unknown>
  return Object.fromEntries(Object.entries(rest).map(([name, member]) => [name, plain(member)]))
}

function short({ result, error }: { readonly result?: unknown; readonly error?: unknown }): string {
  return String(JSON.stringify(error ?? result)).slice(0, 400)
}
