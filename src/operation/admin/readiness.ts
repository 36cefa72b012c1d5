/** Readiness for requests: the checks of `/ready`, and which of them fail. */
import type { KeyFreshnessFigures } from '../../serving/access/keyFreshness.js'

/** `since`: when the state began, in ISO 8601. */
type SharedKeys = KeyFreshnessFigures & { readonly since: string }

export interface ReadinessFigures {
  readonly transport: string
  /** Whether the server accepts no further requests. */
  readonly isDraining: boolean
  readonly networks: readonly {
    readonly network: string
    /** Why it has no block yet; undefined if it has one. */
    readonly opening: string | undefined
    readonly isReadable: boolean
    /** Why no further blocks come; undefined if they do. */
    readonly cutOff: string | undefined
    /** Whether its source has delivered all blocks that it had at the start; true without a source. */
    readonly hasCaughtUp: boolean
    /** Time since the timestamp of its newest block; undefined without a source. */
    readonly headAgeMs: number | undefined
  }[]
  readonly rollups: readonly {
    readonly network: string
    /** Whether the last attempt to store submissions succeeded. */
    readonly isStoring: boolean
    /** Time for which the oldest submission has waited; undefined if the sequencer answers or there is none. */
    readonly queueAgeMs: number | undefined
  }[]
  /** Undefined if no keys are needed, or they are not shared. */
  readonly sharedKeys: SharedKeys | undefined
}

interface ReadinessLimits {
  /** Limit of a head's age; if undefined, heads may be of any age. */
  readonly headAgeMsMax?: number | undefined
  readonly queueAgeMsMax: number
}

const checkNames = [
  'draining',
  'store',
  'source',
  'firstImport',
  'headAge',
  'flush',
  'queueAge',
  'sharedKeys',
] as const
type CheckName = (typeof checkNames)[number]

interface FailedCheck {
  readonly check: CheckName
  /** Undefined for a check of the whole server. */
  readonly network?: string
  readonly why: string
  /** Start of the failure, ISO 8601; absent if unknown. */
  readonly since?: string
}

export interface Readiness {
  readonly ready: boolean
  /** The HTTP and WebSocket library in use. */
  readonly transport: string
  readonly failing: readonly FailedCheck[]
  readonly checks: Readonly<Record<CheckName, 'ok' | 'failing'>>
  readonly sharedKeys?: SharedKeys
}

export function checkReadiness(figures: ReadinessFigures, limits: ReadinessLimits): Readiness {
  const failing = [...findFailures(figures, limits)]
  const stateOf = (name: CheckName) => (failing.some(({ check }) => check === name) ? 'failing' : 'ok')
  return {
    ready: failing.length === 0,
    transport: figures.transport,
    failing,
    checks: Object.fromEntries(checkNames.map((name) => [name, stateOf(name)])) as Readiness['checks'],
    ...(figures.sharedKeys && { sharedKeys: figures.sharedKeys }),
  }
}

function* findFailures(
  { isDraining, networks, rollups, sharedKeys }: ReadinessFigures,
  { headAgeMsMax, queueAgeMsMax }: ReadinessLimits,
): Generator<FailedCheck> {
  if (isDraining) yield { check: 'draining', why: 'the server is stopping' }
  for (const { network, opening, isReadable, cutOff, hasCaughtUp, headAgeMs } of networks) {
    if (opening !== undefined) {
      yield {
        check: cutOff !== undefined ? 'source' : 'firstImport',
        network,
        why: `it has no block yet: ${opening}`,
      }
      continue
    }
    if (!isReadable) yield { check: 'store', network, why: 'its newest block cannot be read' }
    if (cutOff !== undefined) yield { check: 'source', network, why: cutOff }
    else if (!hasCaughtUp)
      yield { check: 'firstImport', network, why: 'it takes in the blocks that its source had at the start' }
    if (headAgeMsMax !== undefined && headAgeMs !== undefined && headAgeMs > headAgeMsMax) {
      yield {
        check: 'headAge',
        network,
        why: `its head is ${seconds(headAgeMs)} old, at most ${seconds(headAgeMsMax)}`,
      }
    }
  }
  for (const { network, isStoring, queueAgeMs } of rollups) {
    if (!isStoring) yield { check: 'flush', network, why: 'submissions cannot be stored' }
    if (queueAgeMs !== undefined && queueAgeMs > queueAgeMsMax) {
      const why = `a submission has waited ${seconds(queueAgeMs)} for the sequencer, at most ${seconds(queueAgeMsMax)}`
      yield { check: 'queueAge', network, why }
    }
  }
  if (sharedKeys?.isAccepting === false) {
    const age = seconds(sharedKeys.ageSeconds * 1_000)
    yield {
      check: 'sharedKeys',
      why: `the database that has the API keys last answered ${age} ago, which is too long ago to accept keys`,
    }
  }
}

function seconds(ms: number): string {
  return `${Math.floor(ms / 1_000)} s`
}
