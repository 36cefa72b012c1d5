/** `tidegate keys …`: opens the keys for one change, beside any running server. */
import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { largest } from '../../primitives/extremes.js'
import { OperatorError, UsageError } from '../../primitives/faults.js'
import { isThere } from '../../primitives/files.js'
import {
  addToken,
  createKey as createRecord,
  findKey,
  listKeys as listRecords,
  type NewKey,
  removeToken,
  revokeKey as revokeRecord,
  rotateKey as rotateRecord,
  setKey as setRecord,
} from '../../serving/access/keyChanges.js'
import { type KeyRecord, keyToJson, stateOf } from '../../serving/access/keyRecord.js'
import type { KeyStore } from '../../serving/access/keyRepository.js'
import { type KeySettings, limitNames, parseKeySettings } from '../../serving/access/keySettings.js'
import { verifierOfPublicKey, verifierOfSecret } from '../../serving/access/tokens.js'
import type { DataConfig } from '../config/config.js'
import { type OpenKeys, type OpenKeysOptions, withKeys } from '../process/openKeys.js'
import type { Io } from '../process/terminal.js'
import { formatTime, layOutTable } from './tables.js'

/** Settings as given by flags: lists of words, and words for numbers and times. */
interface SettingFlags extends Readonly<Partial<Record<(typeof limitNames)[number], string | undefined>>> {
  readonly name?: string | undefined
  readonly network?: readonly string[] | undefined
  readonly method?: readonly string[] | undefined
  readonly origin?: readonly string[] | undefined
  readonly address?: readonly string[] | undefined
  readonly expires?: string | undefined
}

/** Makes a key. Without `asJson`, standard output gets only its text, for scripts. */
export async function createKey(
  config: DataConfig,
  flags: SettingFlags,
  asJson: boolean,
  io: Io,
): Promise<number> {
  const settings = readSettings(flags)
  const { key, text } = await changeKeys(
    config,
    (keys, { pepper }) => createRecord(keys, pepper, settings, actor()),
    { make: true },
  )
  const said = `Made key ${key.id} (${key.name}). Copy it now; only its hash is stored, so it is not shown again:`
  return showSecret({ key, text }, said, asJson, io)
}

export async function setKey(
  config: DataConfig,
  nameOrId: string,
  flags: SettingFlags,
  asJson: boolean,
  io: Io,
): Promise<number> {
  const settings = readSettings(flags)
  if (Object.keys(settings).length === 0) {
    throw new UsageError('keys set needs at least one setting to change; see: tidegate keys set --help')
  }
  const key = await changeKeys(config, (keys) => setRecord(keys, nameOrId, settings, actor()))
  if (!asJson) io.err(`Changed key ${key.id}; running servers follow within a second.`)
  show(key, asJson, io)
  return 0
}

export async function showKey(
  config: DataConfig,
  nameOrId: string,
  asJson: boolean,
  io: Io,
): Promise<number> {
  const key = await withKeys(config, { readOnly: true }, ({ store }) => findKey(store, nameOrId))
  show(key, asJson, io)
  return 0
}

/** Gives a key a new secret, printed as by {@link createKey}. */
export async function rotateKey(
  config: DataConfig,
  nameOrId: string,
  overlap: string,
  asJson: boolean,
  io: Io,
): Promise<number> {
  const overlapMs = overlap === '0' ? 0 : parseDuration(overlap)
  if (overlapMs === undefined) {
    throw new UsageError(`--overlap: expected a time such as 24h, 30m or 0, got ${JSON.stringify(overlap)}`)
  }
  const { key, text } = await changeKeys(config, (keys, { pepper }) =>
    rotateRecord(keys, pepper, nameOrId, overlapMs, actor()),
  )
  const until = key.earlierUntilMs
  const earlier =
    until === undefined
      ? 'The earlier one is refused within a second.'
      : `The earlier one is valid until ${formatTime(until)}.`
  const said = `Key ${key.id} (${key.name}) has a new secret. ${earlier} Copy the new one now:`
  return showSecret({ key, text }, said, asJson, io)
}

/** Prints the secret as JSON, or only its text on standard output. */
function showSecret({ key, text }: NewKey, said: string, asJson: boolean, io: Io): number {
  if (!asJson) io.err(said)
  io.out(asJson ? toText({ ...keyToJson(key), key: text }) : text)
  return 0
}

/** Flags of `keys jwt` about a signer. */
interface SignerFlags {
  readonly publicKey?: string | undefined
  readonly secretFile?: string | undefined
  readonly audience?: string | undefined
  readonly subject?: string | undefined
}

/** Adds a signer of tokens to a key, or removes one. */
export async function changeSigners(
  config: DataConfig,
  [action = '', nameOrId = '', signerId]: readonly string[],
  { publicKey, secretFile, audience, subject }: SignerFlags,
  io: Io,
): Promise<number> {
  if (action === 'remove') {
    if (signerId === undefined)
      throw new UsageError('keys jwt remove needs the id of a signer; see: tidegate keys show')
    const { id } = await changeKeys(config, (keys) => removeToken(keys, nameOrId, signerId, actor()))
    io.out(`Key ${id} has no signer ${signerId} any more; its tokens are refused within a second.`)
    return 0
  }
  if (action !== 'add' || signerId !== undefined) {
    throw new UsageError('write tidegate keys jwt add KEY, or tidegate keys jwt remove KEY SIGNER')
  }
  const path = publicKey ?? secretFile
  if (path === undefined || (publicKey !== undefined && secretFile !== undefined)) {
    throw new UsageError('keys jwt add needs --public-key FILE (ES256) or --secret-file FILE (HS256)')
  }
  const bytes = readSignerFile(path)
  const key = await changeKeys(config, (keys, book) => {
    const verifier =
      publicKey === undefined
        ? verifierOfSecret(bytes, book.pepper)
        : verifierOfPublicKey(bytes.toString('latin1'))
    const claims = { ...(audience !== undefined && { audience }), ...(subject !== undefined && { subject }) }
    return addToken(keys, nameOrId, { ...verifier, ...claims }, actor())
  })
  const signer = key.tokens.at(-1)
  io.out(
    `Key ${key.id} has the signer ${signer?.id} (${signer?.algorithm}); the kid of its tokens is ${key.id}.`,
  )
  return 0
}

/** The bytes of a file, without a line break at the end. */
function readSignerFile(path: string): Buffer {
  try {
    const bytes = readFileSync(path)
    return bytes.at(-1) === 0x0a ? bytes.subarray(0, bytes.at(-2) === 0x0d ? -2 : -1) : bytes
  } catch (error) {
    throw new OperatorError(`cannot read ${path} (${(error as NodeJS.ErrnoException).code})`)
  }
}

export async function listKeys(config: DataConfig, asJson: boolean, io: Io): Promise<number> {
  const hasKeys = config.shared !== undefined || isThere(config.node.store)
  const keys = hasKeys ? await withKeys(config, { readOnly: true }, ({ store }) => listRecords(store)) : []
  if (asJson) io.out(toText(keys.map(keyToJson)))
  else if (keys.length > 0) io.out(tableOfKeys(keys))
  else io.err(`No keys in ${config.dataDir} yet; make one with: tidegate keys create --name NAME`)
  return 0
}

export async function revokeKey(config: DataConfig, nameOrId: string, io: Io): Promise<number> {
  const { id, name, revokedAtMs } = await changeKeys(config, (keys) => revokeRecord(keys, nameOrId, actor()))
  if (revokedAtMs === undefined)
    io.out(`Revoked key ${id} (${name}); running servers refuse it within a second.`)
  else io.out(`Key ${id} (${name}) was revoked already, on ${formatTime(revokedAtMs)}.`)
  return 0
}

function show(key: KeyRecord, asJson: boolean, io: Io): void {
  io.out(asJson ? toText(keyToJson(key)) : describeKey(key))
}

function toText(value: unknown): string {
  return JSON.stringify(value, undefined, 2)
}

/** The author of a change by the command line. */
export function actor(): string {
  try {
    return `cli:${userInfo().username}`
  } catch {
    // A user without an entry in the list of users, as in some containers.
    return 'cli'
  }
}

function readSettings(flags: SettingFlags): KeySettings {
  const scopes = {
    ...(flags.network && { networks: flags.network }),
    ...(flags.method && { methods: flags.method }),
    ...(flags.origin && { origins: flags.origin }),
    ...(flags.address && { addresses: flags.address }),
  }
  const limits = Object.fromEntries(
    limitNames.flatMap((name) => {
      const text = flags[name]
      return text === undefined ? [] : [[name, text === 'none' ? null : Number(text)]]
    }),
  )
  return parseKeySettings({
    ...(flags.name !== undefined && { name: flags.name }),
    ...(flags.expires !== undefined && { expiresAt: parseExpiry(flags.expires) }),
    ...(Object.keys(scopes).length > 0 && { scopes }),
    ...(Object.keys(limits).length > 0 && { limits }),
  })
}

/** `never`, a time from now as in `90d`, or a date or time of ISO 8601, which is returned unchanged. */
function parseExpiry(text: string): string | null {
  if (text === 'never') return null
  const inMs = parseDuration(text)
  if (inMs !== undefined) return new Date(Date.now() + inMs).toISOString()
  return /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text
}

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
/** Longest accepted time; overlaps and expiries are shorter. */
const durationMsMax = 3_660 * unitMs.d

/** Milliseconds of `90s`, `30m`, `24h`, `7d`; undefined for anything else. */
function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,9})([smhd])$/.exec(text)
  if (match === null) return undefined
  const ms = Number(match[1]) * unitMs[match[2] as keyof typeof unitMs]
  return ms <= durationMsMax ? ms : undefined
}

/** Makes one change, and closes the keys. */
async function changeKeys<T>(
  config: DataConfig,
  work: (keys: KeyStore, book: OpenKeys) => T,
  options: OpenKeysOptions = {},
): Promise<T> {
  return withKeys(config, options, (book) => book.change((keys) => work(keys, book)))
}

function tableOfKeys(keys: readonly KeyRecord[]): string {
  const rows = keys.map((key) => [key.id, key.name, formatTime(key.createdAtMs), describeState(key)])
  return layOutTable([['ID', 'NAME', 'CREATED', 'STATE'], ...rows])
}

/** The settings of a key, one line each. */
function describeKey(key: KeyRecord): string {
  const { scopes, limits } = key
  const lines: (readonly [name: string, value: string])[] = [
    ['id', key.id],
    ['name', key.name],
    ['state', describeState(key)],
    ['created', formatTime(key.createdAtMs)],
  ]
  if (key.changedAtMs !== undefined) {
    lines.push(['changed', `${formatTime(key.changedAtMs)} by ${key.changedBy ?? 'somebody'}`])
  }
  if (key.earlierUntilMs !== undefined) {
    lines.push(['earlier secret', `valid until ${formatTime(key.earlierUntilMs)}`])
  }
  for (const { id, algorithm, audience, subject } of key.tokens) {
    const claims = [audience && `audience ${audience}`, subject && `subject ${subject}`].filter(Boolean)
    lines.push(['tokens', [`${algorithm} ${id}`, ...claims].join(', ')])
  }
  for (const [kind, entries] of Object.entries(scopes)) {
    lines.push([kind, entries.length === 0 ? 'all' : entries.join(', ')])
  }
  for (const [name, value] of Object.entries(limits)) lines.push([spaced(name), String(value)])
  const width = largest(lines.map(([name]) => name.length))
  return lines.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n')
}

function describeState(key: KeyRecord): string {
  const { revokedAtMs, expiresAtMs } = key
  if (revokedAtMs !== undefined) return `revoked ${formatTime(revokedAtMs)}`
  if (expiresAtMs === undefined) return 'live'
  return `${stateOf(key) === 'live' ? 'live until' : 'expired'} ${formatTime(expiresAtMs)}`
}

/** `unitsPerDay` → `units per day`. */
function spaced(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}
