/** What a serving process does at signals: it stops, reloads its configuration, or says that it does nothing. */
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
import { onHangup, onIdleSignals, onInterrupt } from './interrupt.js'
import { compareConfigs } from './reload.js'
import type { SystemdNotices } from './systemdNotices.js'
import { TlsWatch } from './tlsWatch.js'

interface Serving {
  readonly config: Config
  /** Reads the configuration again. Throws OperatorError where it is not valid. */
  readonly read: () => Config
  readonly log: Logger
  /** Of the main thread. */
  readonly edge: Edge
  readonly others: EdgeThreads | undefined
  readonly notices: SystemdNotices
  /** For the audit log. */
  readonly keys: KeyRepository
  /** Called at the signal that stops the server. */
  onStopping(): void
}

/** Resolves to the exit status when the server is to be closed. */
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
    log.warn('the grace period is over; what still runs is abandoned')
    try {
      edge.server.abandon()
    } finally {
      endProcess(0)
    }
  }, config.graceMs).unref()
}

/** A function that reads the configuration again and applies it as far as a running server can. */
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
      log.info({ changed, restart }, 'reloaded; what "restart" lists changes with a restart')
    } catch (error) {
      const why = error instanceof OperatorError ? error.message : String(error)
      log.error(`nothing is reloaded: ${why}`)
    }
    notices.ready()
  }
}
