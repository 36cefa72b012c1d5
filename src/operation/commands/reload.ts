/** Reading the configuration again while the server runs: what changes at once, and what needs a restart. */
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config/config.js'

interface Reload {
  /** Keys whose new values apply at once. */
  readonly changed: readonly string[]
  /** Keys that changed since the start and need a restart. */
  readonly restart: readonly string[]
}

/** Keys that `edge/settings.ts` holds. */
const isReloadable = (key: string): boolean =>
  /^(?:logLevel|logSample|cors|allowedHosts|trustedProxies|tls\.(?:cert|key)|networks\.[^.]+\.hosts)$/.test(
    key,
  )

/** Compares a configuration with the one that applies, and with the one that the server was started with. */
export function compareConfigs(started: Config, current: Config, next: Config): Reload {
  const changed = changedKeys(current, next).filter(isReloadable)
  const restart = changedKeys(started, next).filter((key) => !isReloadable(key))
  // What belongs to a network that is not served, or to TLS that is off, comes with it.
  const isThere = (key: string) => !restart.some((other) => key.startsWith(`${other}.`))
  return { changed: changed.filter(isThere), restart }
}

function changedKeys(before: Config, after: Config): string[] {
  const [old, young] = [valuesOf(before), valuesOf(after)]
  const keys = new Set([...old.keys(), ...young.keys()])
  return [...keys].filter((key) => !isDeepStrictEqual(old.get(key), young.get(key))).sort()
}

/** Values by key of the file; networks are named, since their order means nothing. */
function valuesOf({
  networks,
  rollups,
  limits,
  mapBytes,
  tls,
  node: _node,
  keyRates: _rates,
  ...top
}: Config): Map<string, unknown> {
  const values = new Map<string, unknown>(Object.entries({ ...top, 'store.mapBytes': mapBytes }))
  values.set('tls', tls !== undefined)
  for (const [name, value] of Object.entries(tls ?? {})) values.set(`tls.${name}`, value)
  for (const [name, value] of Object.entries(limits)) values.set(`limits.${name}`, value)
  for (const { name, hosts, ...network } of [...networks, ...rollups]) {
    values.set(`networks.${name}`, network)
    values.set(`networks.${name}.hosts`, hosts)
  }
  return values
}
