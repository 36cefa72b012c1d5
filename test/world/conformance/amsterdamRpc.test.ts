// @shares
/**
 * Repeats go-ethereum's recorded calls on the chain a1-cross, if the samples are beside the package. Different answers
 * are in amsterdamDifferences.json, each with its reason.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { amsterdamDir, serveCross, withoutAmsterdam } from '../../ingest/amsterdam.js'
import type { RpcAnswer } from '../../service/service.js'

interface Sample {
  readonly request: { readonly method: string; readonly params: readonly unknown[] }
  readonly response: RpcAnswer
}

/** Differences by the sample's name. */
type Differences = Readonly<Record<string, Difference>>

interface Difference {
  /** Why the answer is another. */
  readonly reason: string
  /** The answer, if it is short and right. */
  readonly answer?: unknown
}

t.test('what go-ethereum was asked of an Amsterdam chain', { skip: withoutAmsterdam }, async (t) => {
  const differences: Differences = JSON.parse(
    readFileSync(join(packageRoot(), 'test/conformance/amsterdamDifferences.json'), 'utf8'),
  )
  const service = await serveCross()
  t.teardown(() => service.stop())
  const folder = join(amsterdamDir, 'rpc')
  let asked = 0
  for (const file of readdirSync(folder).sort()) {
    const name = file.replace('.json', '')
    // There is no engine API here, and go-ethereum had no method for lists.
    if (/^(engine_|bal_method_|web3_)/.test(name)) continue
    const { request, response }: Sample = JSON.parse(readFileSync(join(folder, file), 'utf8'))
    const { result, error } = await service.call(request.method, request.params)
    asked++
    const isSame =
      error === undefined ? isDeepStrictEqual(comparable(result), comparable(response.result)) : false
    const known = differences[name]
    if (known === undefined) t.ok(isSame, name) || t.comment(JSON.stringify({ result, error }).slice(0, 300))
    else {
      t.notOk(isSame, `${name} is another: ${known.reason}`)
      if ('answer' in known) t.strictSame(error ?? result, known.answer, name)
    }
  }
  t.ok(asked > 40)
})

/** Compares without the member that only this program adds to blocks. */
function comparable(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return result
  const { totalDifficulty, ...rest } = result as Record<string, unknown>
  return rest
}
