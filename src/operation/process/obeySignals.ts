/** Signals of a serving process: it stops, reloads its configuration, or logs that a signal does nothing. */

import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import { endProcess } from '../../primitives/endProcess.js'
import { OperatorError } from '../../primitives/faults.js'
import { setTimeout } from '../../primitives/timers.js'
import type { KeyRepository } from '../../serving/access/keyRepository.js'
import { readTlsFiles } from '../../serving/transport/tlsFiles.js'
import type { Config } from '../config/config.js'
import type { Edge } from '../edge/edge.js'
import type { EdgeThreads } from '../edge/edgeThreads.js'
import { settingsOf } from '../edge/settings.js'
import type { SystemdNotices } from './systemdNotices.js'
import { onHangup, onIdleSignals, onInterrupt } from './terminal.js'
import { TlsWatch } from './tlsWatch.js'

/** The result of reading the configuration again: changes that apply at once, and those that need a restart. */
interface Reload {
  /** Keys whose new values apply at once. */
  readonly changed: readonly string[]
  /** Keys that changed since the start and need a restart. */
  readonly restart: readonly string[]
}

/** Keys that `edge/settings.ts` contains. */
const isReloadable = (key: string): boolean =>
  /^(?:logLevel|logSample|cors|allowedHosts|trustedProxies|tls\.(?:cert|key)|networks\.[^.]+\.hosts)$/.test(
    key,
  )

/** Compares a configuration with the current one, and with the one of the server's start. */
function compareConfigs(started: Config, current: Config, next: Config): Reload {
  const changed = changedKeys(current, next).filter(isReloadable)
  const restart = changedKeys(started, next).filter((key) => !isReloadable(key))
  // Members of a network that is not served, or of TLS that is off, change with it at the restart.
  const isThere = (key: string) => !restart.some((other) => key.startsWith(`${other}.`))
  return { changed: changed.filter(isThere), restart }
}

function changedKeys(before: Config, after: Config): string[] {
  const old = valuesOf(before)
  const young = valuesOf(after)
  const keys = new Set([...old.keys(), ...young.keys()])
  return [...keys].filter((key) => !isDeepStrictEqual(old.get(key), young.get(key))).sort()
}

/** Values by key of the file; networks are identified by name, since their order does not matter. */
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

interface Serving {
  readonly config: Config
  /** Reads the configuration again. Throws OperatorError if it is not valid. */
  readonly read: () => Config
  readonly log: Logger
  /** Edge of the main thread. */
  readonly edge: Edge
  readonly others: EdgeThreads | undefined
  readonly notices: SystemdNotices
  /** Keys, for the audit log. */
  readonly keys: KeyRepository
  /** Called at the signal that stops the server. */
  onStopping(): void
}

/** Resolves to the exit status when the server should close. */
export function obeySignals(serving: Serving): Promise<number> {
  let isStopping = false
  onIdleSignals((signal) => serving.log.warn(`${signal} does nothing: SIGHUP reloads, SIGTERM stops`))
  const reload = reloader(serving)
  onHangup(() => {
    if (!isStopping) reload()
  })
  return new Promise((resolve) =>
    onInterrupt(() => {
      isStopping = true
      announceStop(serving)
      setTimeout(() => resolve(0), serving.config.drainDelayMs)
    }),
  )
}

function announceStop({ config, log, edge, others, notices, onStopping }: Serving): void {
  onStopping()
  log.info('stopping')
  notices.stopping()
  edge.drain()
  others?.broadcast({ type: 'drain' })
  setTimeout(() => {
    log.warn('the grace period is over; running requests are cut off')
    try {
      edge.server.abandon()
    } finally {
      endProcess(0)
    }
  }, config.graceMs).unref()
}

/** A function that reads the configuration again and applies the part that a running server can change. */
function reloader({ config, read, log, edge, others, notices, keys }: Serving): () => void {
  let current = config
  const apply = () => {
    const settings = settingsOf(current)
    edge.apply(settings)
    others?.broadcast({ type: 'reload', settings })
  }
  const tlsWatch = new TlsWatch(log, apply)
  tlsWatch.follow(config.tls)
  return () => {
    notices.reloading()
    try {
      const next = read()
      const { changed, restart } = compareConfigs(config, current, next)
      if (config.tls && next.tls) {
        readTlsFiles(next.tls)
        tlsWatch.follow(next.tls)
      }
      current = next
      apply()
      const detail = changed.join(', ')
      const note = { atMs: Date.now(), actor: 'SIGHUP', keyId: undefined, detail } as const
      keys
        .note({ ...note, action: 'configuration reloaded' })
        .catch((error: Error) => log.error(`the audit log could not be written: ${error.message}`))
      log.info({ changed, restart }, 'reloaded; the settings in "restart" change with a restart')
    } catch (error) {
      const why = error instanceof OperatorError ? error.message : String(error)
      log.error(`nothing is reloaded: ${why}`)
    }
    notices.ready()
  }
}
