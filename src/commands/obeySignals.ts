/** What a serving process does at signals: it stops, reloads its configuration, or says that it does nothing. */
import type { Logger } from 'pino'
import { redactKeys } from '../access/keyText.js'
import type { Config } from '../config/config.js'
import type { Edge } from '../edge/edge.js'
import type { EdgeThreads } from '../edge/edgeThreads.js'
import { settingsOf } from '../edge/settings.js'
import { OperatorError } from '../primitives/faults.js'
import { onHangup, onIdleSignals, onInterrupt } from './interrupt.js'
import { compareConfigs } from './reload.js'
import type { SystemdNotices } from './systemdNotices.js'

export interface Serving {
  readonly config: Config
  /** Reads the configuration again. Throws OperatorError where it is not valid. */
  readonly read: () => Config
  readonly log: Logger
  /** Of the main thread. */
  readonly edge: Edge
  readonly others: EdgeThreads | undefined
  readonly notices: SystemdNotices
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
    edge.server.abandon()
    process.exit(0)
  }, config.graceMs).unref()
}

/** A function that reads the configuration again and applies it as far as a running server can. */
function reloader({ config, read, log, edge, others, notices }: Serving): () => void {
  let current = config
  return () => {
    notices.reloading()
    try {
      const next = read()
      const settings = settingsOf(next)
      const { changed, restart } = compareConfigs(config, current, next)
      edge.apply(settings)
      others?.broadcast({ type: 'reload', settings })
      current = next
      log.info({ changed, restart }, 'reloaded; what "restart" lists changes with a restart')
    } catch (error) {
      const why = error instanceof OperatorError ? error.message : String(error)
      log.error(redactKeys(`nothing is reloaded: ${why}`))
    }
    notices.ready()
  }
}
