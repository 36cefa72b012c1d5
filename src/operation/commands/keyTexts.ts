/** Keys as the command line shows them to people. */

import { largest } from '../../primitives/extremes.js'
import { type KeyRecord, stateOf } from '../../serving/access/keyRecord.js'
import { formatTime, layOutTable } from './tables.js'

export function tableOfKeys(keys: readonly KeyRecord[]): string {
  const rows = keys.map((key) => [key.id, key.name, formatTime(key.createdAtMs), describeState(key)])
  return layOutTable([['ID', 'NAME', 'CREATED', 'STATE'], ...rows])
}

/** What a key may do, one line for each thing that is set. */
export function describeKey(key: KeyRecord): string {
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
