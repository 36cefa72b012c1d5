import type { KeyLimits, KeyRow, KeyScopes, TokenVerifier } from '../../data/store/node/keyRows.js'
import { digestPrefixBytes } from '../../data/store/node/keyTables.js'
import { ofEachLimit } from './keySettings.js'

export interface KeyRecord {
  /** 12 hex digits: the first 6 bytes of the digest of its first secret. */
  readonly id: string
  readonly name: string
  readonly createdAtMs: number
  readonly revokedAtMs: number | undefined
  readonly expiresAtMs: number | undefined
  readonly scopes: KeyScopes
  readonly limits: KeyLimits
  /** End of the previous secret's validity; undefined if there is one secret. */
  readonly earlierUntilMs: number | undefined
  /** Signers of tokens for this key. */
  readonly tokens: readonly Omit<TokenVerifier, 'material'>[]
  readonly changedAtMs: number | undefined
  readonly changedBy: string | undefined
}

type KeyState = 'live' | 'expired' | 'revoked'

export const noScopes: KeyScopes = { networks: [], methods: [], origins: [], addresses: [] }

export function rowToRecord({ digest, name, createdAtMs, revokedAtMs, details = {} }: KeyRow): KeyRecord {
  return {
    id: prefixToId(digest.subarray(0, digestPrefixBytes)),
    name,
    createdAtMs,
    revokedAtMs,
    expiresAtMs: details.expiresAtMs,
    scopes: { ...noScopes, ...details.scopes },
    limits: details.limits ?? {},
    earlierUntilMs: details.secrets?.find(({ untilMs }) => untilMs !== undefined)?.untilMs,
    tokens: (details.tokens ?? []).map(({ material: _, ...rest }) => rest),
    changedAtMs: details.changedAtMs,
    changedBy: details.changedBy,
  }
}

export function prefixToId(prefix: Uint8Array): string {
  return Buffer.from(prefix).toString('hex')
}

export function stateOf({ revokedAtMs, expiresAtMs }: KeyRecord, nowMs = Date.now()): KeyState {
  if (revokedAtMs !== undefined) return 'revoked'
  return expiresAtMs !== undefined && expiresAtMs <= nowMs ? 'expired' : 'live'
}

/** A key as JSON, for programs: times in ISO 8601, `null` for unset values, empty lists for scopes that allow all. */
export function keyToJson(key: KeyRecord) {
  return {
    id: key.id,
    name: key.name,
    state: stateOf(key),
    createdAt: new Date(key.createdAtMs).toISOString(),
    changedAt: toIso(key.changedAtMs),
    changedBy: key.changedBy ?? null,
    expiresAt: toIso(key.expiresAtMs),
    revokedAt: toIso(key.revokedAtMs),
    earlierSecretUntil: toIso(key.earlierUntilMs),
    tokens: key.tokens.map(({ id, algorithm, audience, subject, addedAtMs }) => ({
      id,
      algorithm,
      audience: audience ?? null,
      subject: subject ?? null,
      addedAt: new Date(addedAtMs).toISOString(),
    })),
    scopes: {
      networks: [...key.scopes.networks],
      methods: [...key.scopes.methods],
      origins: [...key.scopes.origins],
      addresses: [...key.scopes.addresses],
    },
    limits: { ...ofEachLimit(() => null), ...key.limits },
  }
}

function toIso(timeMs: number | undefined): string | null {
  return timeMs === undefined ? null : new Date(timeMs).toISOString()
}
