/**
 * Changes of keys, as plain functions over a {@link KeyStore}, for the command line and the admin API. Each takes
 * effect in every process within a second. `actor` names the author of the change. Besides the errors listed below,
 * functions that change a key throw UnknownKey if there is none.
 */
import { createHash } from 'node:crypto'
import type { KeyRow, TokenVerifier } from '../../data/store/node/keyRows.js'
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

/** Longest overlap of two secrets: a year. For more, use two keys. */
export const overlapMsMax = 366 * 86_400_000

/** All keys of a store, including revoked ones, oldest first. */
export function listKeys(store: KeyStore): KeyRecord[] {
  return store.readKeys().map(rowToRecord)
}

/**
 * The key with this id (12 hex digits), or the unrevoked key with this name. Throws UnknownKey if there is none, and
 * UsageError for the text of a key, which the message does not repeat.
 */
export function findKey(store: KeyStore, nameOrId: string): KeyRecord {
  return rowToRecord(findRow(store, nameOrId))
}

/**
 * Makes a key. Throws UsageError if the settings have no name or an end in the past, and OperatorError if another key
 * has that name.
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

/**
 * Like {@link createKey}; returns undefined for its OperatorError or, with `onlyFirst`, if the store ever had a key.
 */
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

/**
 * Changes the values in `settings`. Returns the changed key. Throws OperatorError for a revoked key or a taken name.
 */
export function setKey(store: KeyStore, nameOrId: string, settings: KeySettings, actor: string): KeyRecord {
  const after = change(store, nameOrId, (row) => ({
    ...unrevoked(row),
    name: settings.name ?? row.name,
    details: applySettings(row.details ?? {}, settings, Date.now(), actor),
  }))
  return rowToRecord(after)
}

/**
 * Gives a key a new secret. The previous one stays valid for `overlapMs`, at most {@link overlapMsMax}; any earlier one
 * ends. Throws OperatorError for a revoked key.
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

/** Revokes a key for good. Returns the key before the change: with `revokedAtMs` if it had been revoked already. */
export function revokeKey(store: KeyStore, nameOrId: string, actor: string): KeyRecord {
  const { digest } = findRow(store, nameOrId)
  const nowMs = Date.now()
  const changed = store.changeKey(digest, (row) =>
    row.revokedAtMs !== undefined
      ? row
      : { ...row, revokedAtMs: nowMs, details: applySettings(row.details ?? {}, {}, nowMs, actor) },
  )
  if (typeof changed !== 'object') throw new Error('the key was removed meanwhile')
  return rowToRecord(changed.before)
}

/** Signers of tokens per key, so that a forged token costs a few checks at most. */
const verifiersMax = 4

/**
 * Lets a signer make tokens for a key. Throws OperatorError for a revoked key, and for more than {@link verifiersMax}
 * signers or a repeated one.
 */
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

/** Removes a signer of tokens, which ends its tokens. Throws OperatorError if the key has no signer with this id. */
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
  if (changed === undefined) throw new Error('the key was removed meanwhile')
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
