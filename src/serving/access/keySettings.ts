/** The settings of a key: the rules of each value, and how a change is applied. */
import { isIP } from 'node:net'
import * as z from 'zod'
import type { KeyDetails, KeyLimits, KeyScopes } from '../../data/store/node/keyRows.js'
import { UsageError } from '../../primitives/faults.js'
import { unitsBurstMin } from './allowances.js'
import { burstMax, perSecondMax } from './meter.js'

/** Entries of one kind of scope: checking all of them takes some microseconds, and the result is remembered. */
const entriesMax = 100

/** Letters, marks, digits, punctuation, symbols and inner spaces; nothing invisible that could fake a listing. */
const namePattern =
  /^[\p{L}\p{N}\p{P}\p{S}](?:[\p{L}\p{M}\p{N}\p{P}\p{S} ]{0,62}[\p{L}\p{M}\p{N}\p{P}\p{S}])?$/u
const methodPattern = /^[A-Za-z][A-Za-z0-9_]{0,99}\*?$/
const networkPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** Entries of a scope in normal form, for comparison; `*` alone means all, like an empty list. */
function scope(expected: string, normal: (text: string) => string | undefined) {
  const entry = z.string().transform((text, context) => {
    const entry = text === '*' ? text : normal(text)
    if (entry !== undefined) return entry
    context.addIssue({ code: 'custom', message: `expected ${expected} or *, got ${JSON.stringify(text)}` })
    return z.NEVER
  })
  return z
    .array(entry)
    .max(entriesMax, `at most ${entriesMax} entries`)
    .transform((entries) => (entries.includes('*') ? [] : [...new Set(entries)]))
}

/** An integer, or null for no limit. */
function limit(min: number, max: number) {
  const message = `expected an integer from ${min} to ${max}, or null (as a flag: none) for no limit of its own`
  return z.int(message).min(min, message).max(max, message).nullable()
}

const limitsShape = {
  requestsPerSecond: limit(1, perSecondMax),
  requestsBurst: limit(1, burstMax),
  unitsPerSecond: limit(1, perSecondMax),
  // With less, some calls could never be made.
  unitsBurst: limit(unitsBurstMin, burstMax),
  unitsPerDay: limit(1, 1_000_000_000_000),
  sockets: limit(0, 1_000_000),
  subscriptions: limit(0, 1_000_000),
  weight: limit(1, 100),
}

/** In display order. */
export const limitNames = Object.keys(limitsShape) as (keyof KeyLimits)[]

/** A record of all limits, each with the result of `make`. */
export function ofEachLimit<T>(make: () => T): Record<keyof KeyLimits, T> {
  return Object.fromEntries(limitNames.map((name) => [name, make()])) as Record<keyof KeyLimits, T>
}

export const keySettingsSchema = z
  .strictObject({
    name: z
      .string()
      .transform((name) => name.normalize('NFC'))
      .refine(
        (name) => namePattern.test(name),
        'a key needs a name of 1 to 64 printable characters that neither begins nor ends with a space',
      ),
    /** ISO 8601 with a time zone; null: never. */
    expiresAt: z.iso
      .datetime({
        offset: true,
        error: 'expected a time such as 2027-01-31T00:00:00Z, or null (as a flag: never) for never',
      })
      .nullable(),
    scopes: z
      .strictObject({
        networks: scope('the name of a network', matching(networkPattern)),
        methods: scope('the name of a method, or its beginning as in eth_*', matching(methodPattern)),
        origins: scope('an origin such as https://app.example.org', normalOrigin),
        addresses: scope('an IP address or block such as 10.0.0.0/8', normalAddress),
      })
      .partial(),
    limits: z.strictObject(limitsShape).partial(),
  })
  .partial()

/**
 * Values to set on a key; absent ones stay. A list replaces the previous one, and an empty list allows all; null
 * removes an expiry or a limit.
 */
export type KeySettings = z.output<typeof keySettingsSchema>

/** Settings from JSON or flags, checked and in their normal form. Throws UsageError that names each fault. */
export function parseKeySettings(value: unknown): KeySettings {
  const parsed = keySettingsSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map(({ path, message }) =>
    path.length === 0 || path[0] === 'name' ? message : `${path.join('.')}: ${message}`,
  )
  throw new UsageError(faults.join('; '))
}

/** The details of a key after a change by `actor`, a short text such as `cli` or `admin`. Throws UsageError. */
export function applySettings(
  before: KeyDetails,
  { expiresAt, scopes, limits }: KeySettings,
  nowMs: number,
  actor: string,
): KeyDetails {
  const { expiresAtMs, ...rest } = before
  const until = expiresAt === undefined ? expiresAtMs : expiresAt === null ? undefined : Date.parse(expiresAt)
  const { requestsPerSecond } = { ...before.limits, ...limits }
  if (typeof limits?.requestsBurst === 'number' && typeof requestsPerSecond !== 'number') {
    throw new UsageError(
      'limits.requestsBurst: expected requestsPerSecond beside it, without which requests are not counted',
    )
  }
  return {
    ...rest,
    ...(until !== undefined && { expiresAtMs: until }),
    ...changed('scopes', { ...before.scopes, ...scopes } as KeyScopes, (list) => list.length > 0),
    ...changed('limits', { ...before.limits, ...limits } as KeyLimits, (value) => value !== null),
    changedAtMs: nowMs,
    changedBy: actor,
  }
}

/**
 * An object with the member `name`: those of `values` that are set. It is empty if none is set, so that it replaces the
 * previous value.
 */
function changed<T extends object>(name: string, values: T, isSet: (value: T[keyof T]) => boolean) {
  const kept = Object.entries(values).filter(([, value]) => value !== undefined && isSet(value))
  return { [name]: Object.fromEntries(kept) }
}

function matching(pattern: RegExp) {
  return (text: string) => (pattern.test(text) ? text : undefined)
}

/** An origin as browsers write it (RFC 6454, section 6.2). */
function normalOrigin(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined
  const isBare = url.pathname === '/' && url.search === '' && url.hash === '' && url.username === ''
  return isBare && !text.includes('*') ? url.origin : undefined
}

function normalAddress(text: string): string | undefined {
  const [address = '', bits, more] = text.split('/')
  const family = isIP(address)
  if (family === 0 || more !== undefined || address.includes('%')) return undefined
  if (bits === undefined) return address.toLowerCase()
  const bitsMax = family === 4 ? 32 : 128
  return /^(?:0|[1-9][0-9]{0,2})$/.test(bits) && Number(bits) <= bitsMax ? text.toLowerCase() : undefined
}
