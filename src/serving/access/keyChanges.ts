/**
 * Changes of keys, as plain functions over where they are kept: for the command line and the admin API. Each is in force
 * in every process within a second. `actor` says who makes the change. What changes a key
 * throws UnknownKey where there is none, besides what it says.
 */
import { createHash } from 'node:crypto'
import type { KeyRow, TokenVerifier } from '../../data/store/keyRows.js'
import { OperatorError, UsageError } from '../../primitives/faults.js'
import { type KeyRecord, rowToRecord } from './keyRecord.js'
import type { KeyStore } from './keyRepository.js'
import { applySettings, type KeySettings } from './keySettings.js'
import { looksLikeKey, makeKeyText } from './keyText.js'
import type { Pepper } from './pepper.js'

/** A key with a new secret. `text` is stored nowhere and cannot be recovered. */
export interface NewKey {
  readonly key: KeyRecord
  readonly text: string
}

export class UnknownKey extends OperatorError {}

const idPattern = /^[0-9a-f]{12}$/

/** Longest overlap of two secrets: a year. Who needs more has two keys. */
export const overlapMsMax = 366 * 86_400_000

/** All keys of a store, revoked ones too, oldest first. */
export function listKeys(store: KeyStore): KeyRecord[] {
  return store.readKeys().map(rowToRecord)
}

/**
 * The key with this id (12 hex digits), or the one that is not revoked with this name. Throws UnknownKey where
 * there is none, UsageError for the text of a key, which is not repeated.
 */
export function findKey(store: KeyStore, nameOrId: string): KeyRecord {
  return rowToRecord(findRow(store, nameOrId))
}

/**
 * Makes a key. Throws UsageError where the settings have no name, or an end that is past, OperatorError where another
 * key has that name.
 */
export function createKey(store: KeyStore, pepper: Pepper, settings: KeySettings, actor: string): NewKey {
  const made = tryCreateKey(store, pepper, settings, actor)
  if (!made) {
    throw new OperatorError(
      `a key named "${settings.name}" exists already; choose another name or revoke that key first`,
    )
  }
  return made
}

/** As {@link createKey}; undefined where it would throw OperatorError or, with `onlyFirst`, where a key is or was. */
export function tryCreateKey(
  store: KeyStore,
  pepper: Pepper,
  settings: KeySettings,
  actor: string,
  { onlyFirst = false } = {},
): NewKey | undefined {
  const { name, expiresAt } = settings
  if (name === undefined) throw new UsageError('a key needs a name')
  if (expiresAt && Date.parse(expiresAt) <= Date.now()) {
    throw new UsageError(`expiresAt: a new key has to end later than now, and not at ${expiresAt}`)
  }
  for (;;) {
    const text = makeKeyText()
    const nowMs = Date.now()
    const row: KeyRow = {
      digest: pepper.digest(text),
      name,
      createdAtMs: nowMs,
      revokedAtMs: undefined,
      details: applySettings({}, settings, nowMs, actor),
    }
    const outcome = store.writeKey(row, { onlyFirst })
    if (outcome === 'written') return { key: rowToRecord(row), text }
    if (outcome !== 'digestPrefixTaken') return undefined
  }
}

/** Changes what `settings` name. Returns the key afterwards. Throws OperatorError for a revoked key or a taken name. */
export function setKey(store: KeyStore, nameOrId: string, settings: KeySettings, actor: string): KeyRecord {
  const after = change(store, nameOrId, (row) => ({
    ...unrevoked(row),
    name: settings.name ?? row.name,
    details: applySettings(row.details ?? {}, settings, Date.now(), actor),
  }))
  return rowToRecord(after)
}

/**
 * Gives a key a new secret; the one before stays valid for `overlapMs`, at most {@link overlapMsMax}, and any earlier
 * one ends. Throws OperatorError for a revoked key.
 */
export function rotateKey(
  store: KeyStore,
  pepper: Pepper,
  nameOrId: string,
  overlapMs: number,
  actor: string,
): NewKey {
  const text = makeKeyText()
  const digest = pepper.digest(text)
  const after = change(store, nameOrId, (row) => {
    const nowMs = Date.now()
    const { secrets = [{ digest: row.digest }], ...details } = unrevoked(row).details ?? {}
    const current = secrets.filter(({ untilMs }) => untilMs === undefined)
    const earlier = current.map((secret) => ({ digest: secret.digest, untilMs: nowMs + overlapMs }))
    return {
      ...row,
      details: {
        ...applySettings(details, {}, nowMs, actor),
        secrets: [...(overlapMs > 0 ? earlier : []), { digest }],
      },
    }
  })
  return { key: rowToRecord(after), text }
}

/** Revokes a key for good. Returns the key as it was: with `revokedAtMs` if it had been revoked already. */
export function revokeKey(store: KeyStore, nameOrId: string, actor: string): KeyRecord {
  const { digest } = findRow(store, nameOrId)
  const nowMs = Date.now()
  const changed = store.changeKey(digest, (row) =>
    row.revokedAtMs !== undefined
      ? row
      : { ...row, revokedAtMs: nowMs, details: applySettings(row.details ?? {}, {}, nowMs, actor) },
  )
  if (typeof changed !== 'object') throw new Error('a key that was found is gone')
  return rowToRecord(changed.before)
}

/** Signers of tokens that one key may have, so that a forged token costs a few checks at most. */
const verifiersMax = 4

/** Lets a signer make tokens that stand for a key. Throws OperatorError for a revoked key, and where it has enough. */
export function addToken(
  store: KeyStore,
  nameOrId: string,
  verifier: Omit<TokenVerifier, 'id' | 'addedAtMs'>,
  actor: string,
): KeyRecord {
  const id = createHash('sha256').update(verifier.material).digest('hex').slice(0, 8)
  return changeTokens(store, nameOrId, actor, (tokens, addedAtMs) => {
    if (tokens.length >= verifiersMax) {
      throw new OperatorError(`a key has at most ${verifiersMax} signers of tokens; remove one first`)
    }
    if (tokens.some((token) => token.id === id))
      throw new OperatorError(`this key has the signer ${id} already`)
    return [...tokens, { ...verifier, id, addedAtMs }]
  })
}

/** Ends a signer of tokens, and so its tokens. Throws OperatorError where the key has none with this id. */
export function removeToken(store: KeyStore, nameOrId: string, id: string, actor: string): KeyRecord {
  return changeTokens(store, nameOrId, actor, (tokens) => {
    const kept = tokens.filter((token) => token.id !== id)
    if (kept.length < tokens.length) return kept
    throw new OperatorError(`this key has no signer of tokens ${JSON.stringify(id)}; see: tidegate keys show`)
  })
}

function changeTokens(
  store: KeyStore,
  nameOrId: string,
  actor: string,
  make: (tokens: readonly TokenVerifier[], nowMs: number) => readonly TokenVerifier[],
): KeyRecord {
  const after = change(store, nameOrId, (row) => {
    const nowMs = Date.now()
    const { tokens = [], ...details } = unrevoked(row).details ?? {}
    return { ...row, details: { ...applySettings(details, {}, nowMs, actor), tokens: make(tokens, nowMs) } }
  })
  return rowToRecord(after)
}

function change(store: KeyStore, nameOrId: string, make: (row: KeyRow) => KeyRow): KeyRow {
  const { digest } = findRow(store, nameOrId)
  const changed = store.changeKey(digest, make)
  if (changed === undefined) throw new Error('a key that was found is gone')
  if (changed !== 'nameTaken') return changed.after
  throw new OperatorError('another key has that name already; choose another, or revoke that key first')
}

function unrevoked(row: KeyRow): KeyRow {
  if (row.revokedAtMs === undefined) return row
  throw new OperatorError(`key ${rowToRecord(row).id} is revoked for good; make another key`)
}

function findRow(store: KeyStore, nameOrId: string): KeyRow {
  if (looksLikeKey(nameOrId)) {
    throw new UsageError(
      'a key is named by its name or its id of 12 hex digits, not by its text; find them with: tidegate keys list',
    )
  }
  const isId = idPattern.test(nameOrId)
  const row =
    (isId ? store.readKeyByPrefix(Buffer.from(nameOrId, 'hex')) : undefined) ??
    store.readKeyByName(nameOrId.normalize('NFC'))
  if (row) return row
  const what = isId ? `with id ${nameOrId}` : `named ${JSON.stringify(nameOrId)} that is not revoked`
  throw new UnknownKey(`there is no key ${what}; find its id with: tidegate keys list`)
}
