/** Compares two answers to a question, after known differences are removed. */
import { isDeepStrictEqual } from 'node:util'
import type { Endpoint, Exchange } from './endpoint.js'
import { knownDifferences } from './knownDifferences.js'

export type Verdict =
  | { readonly kind: 'same' }
  /** The answers differ, for these known reasons alone. */
  | { readonly kind: 'known'; readonly reasons: readonly string[] }
  /** Both are errors with the same code and data. `where`: the two texts. */
  | { readonly kind: 'text'; readonly where: string }
  /** `where`: the first place at which they differ. */
  | { readonly kind: 'different'; readonly where: string }

/** `endpoint`: geth, for known differences that need another question. */
export async function compare(exchange: Exchange, endpoint: Endpoint): Promise<Verdict> {
  if (isDeepStrictEqual(exchange.geth, exchange.ours)) return { kind: 'same' }
  let evened = exchange
  const reasons: string[] = []
  for (const { methods, reason, even } of knownDifferences) {
    if (!methods.test(exchange.question.method)) continue
    const next = { ...evened, ...(await even(evened, endpoint)) }
    if (isDeepStrictEqual(next, evened)) continue
    evened = next
    reasons.push(reason)
    if (isDeepStrictEqual(evened.geth, evened.ours)) return { kind: 'known', reasons }
  }
  const { geth, ours } = evened
  const where = firstDifference(geth, ours) ?? ''
  const isText =
    geth.error !== undefined &&
    ours.error !== undefined &&
    geth.error.code === ours.error.code &&
    isDeepStrictEqual(geth.error.data, ours.error.data)
  return { kind: isText ? 'text' : 'different', where }
}

const shownLength = 120

/** A path and both values there; undefined if all is equal. */
export function firstDifference(geth: unknown, ours: unknown, path = ''): string | undefined {
  if (isDeepStrictEqual(geth, ours)) return undefined
  if (isObject(geth) && isObject(ours) && Array.isArray(geth) === Array.isArray(ours)) {
    for (const key of new Set([...Object.keys(geth), ...Object.keys(ours)])) {
      const found = firstDifference(geth[key], ours[key], `${path}.${key}`)
      if (found !== undefined) return found
    }
  }
  const show = (value: unknown) => String(JSON.stringify(value)).slice(0, shownLength)
  return `${path || '.'}: geth ${show(geth)}, Tidegate ${show(ours)}`
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
