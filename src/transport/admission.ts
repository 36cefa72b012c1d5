/**
 * Admits requests, over HTTP and WebSocket alike: finds the network by path or host name, checks the API key, and
 * makes the answers of refusals. Does not own keys (it calls `authorize`) nor the shapes of paths (paths.ts).
 */
import type { Fault } from '../primitives/faults.js'
import type { Answer } from '../rpc/answer.js'
import { type Allowance, anonymousId, type Identity } from '../rpc/caller.js'
import type { Endpoint } from '../rpc/endpoint.js'
import { type DefectLog, faultToWireError, renderErrorAnswer, thrownToWireError } from '../rpc/wireErrors.js'
import { hostName } from './hostGate.js'
import type { PathTarget } from './paths.js'

/** A network under its own path `/<name>/v3/<key>`. */
export interface Route {
  readonly name: string
  readonly endpoint: Endpoint
  /** Host names, without port, at which a path without a network means this one. */
  readonly hosts: readonly string[]
}

export type AccessDecision = Allowed | { readonly ok: false; readonly reason: string }

export interface Allowed extends Identity {
  readonly ok: true
}

/** A request refused before it reached an endpoint, for the log. `path` contains no key. */
export interface RefusedRequest {
  readonly status: number
  readonly path: string
  /** Of the client; see {@link RequestHead.address}. */
  readonly address: string
  readonly why: string
}

/** Why a request is refused, and its answer. `why` contains no key. */
export interface Refusal {
  readonly answer: Answer
  readonly why: string
}

export interface AdmissionOptions {
  /** The first is the default network. Names `v3`, `ws` and `health` are taken. */
  readonly routes: readonly Route[]
  /**
   * Whether a key is accepted; throws where the keys cannot be read. `reason` completes `unauthorized: …` and must
   * not contain the key.
   */
  authorize(key: string): AccessDecision
  /**
   * Ids of the keys changed since the last call; undefined where any key may have changed. Throws where the keys
   * cannot be read.
   */
  changedKeys(): readonly string[] | undefined
  readonly logDefect: DefectLog
  /** No key is needed, and one in the path is ignored. */
  readonly noAuth: boolean
  /** The allowance that all callers share where no key is needed; absent: no limit. */
  readonly anonymousAllowance?: Allowance | undefined
}

const reservedNames: ReadonlySet<string> = new Set(['v3', 'ws', 'health'])

export class Admission {
  readonly #networks = new Map<string, Endpoint>()
  #hosts: ReadonlyMap<string, Endpoint> = new Map()
  readonly #default: Endpoint | undefined
  readonly #options: AdmissionOptions
  readonly #anonymous: Allowed

  /** Throws RangeError where two networks have the same name, or one has a reserved name. */
  constructor(options: AdmissionOptions) {
    this.#options = options
    this.#anonymous = { ok: true, key: { id: anonymousId }, allowance: options.anonymousAllowance }
    this.#default = options.routes[0]?.endpoint
    for (const { name, endpoint } of options.routes) {
      if (reservedNames.has(name) || this.#networks.has(name)) {
        throw new RangeError(`network name is taken: ${name}`)
      }
      this.#networks.set(name, endpoint)
    }
    this.setHosts(new Map(options.routes.map(({ name, hosts }) => [name, hosts])))
  }

  /** Replaces the host names of all networks; names of networks that are not served are ignored. */
  setHosts(hostsOf: ReadonlyMap<string, readonly string[]>): void {
    const endpoints = new Map<string, Endpoint>()
    for (const [name, hosts] of hostsOf) {
      const endpoint = this.#networks.get(name)
      if (endpoint !== undefined) for (const host of hosts) endpoints.set(host.toLowerCase(), endpoint)
    }
    this.#hosts = endpoints
  }

  /**
   * The endpoint of the network that a path names; where it names none, that of the Host header, or else the default.
   */
  findEndpoint(target: PathTarget, host: string): Endpoint | undefined {
    if (target.network !== undefined) return this.#networks.get(target.network)
    if (this.#hosts.size === 0) return this.#default
    return this.#hosts.get(hostName(host)) ?? this.#default
  }

  /** Checks the key of a path. `form` shows in the refusal where in a path the key belongs. */
  admitKey(key: string | undefined, form: string): Allowed | Refusal {
    if (this.#options.noAuth) return this.#anonymous
    let decision: AccessDecision
    try {
      decision = key === undefined ? keyMissing(form) : this.#options.authorize(key)
    } catch (error) {
      const body = renderErrorAnswer('null', thrownToWireError(error, 'API key', this.#options.logDefect))
      return { answer: { status: 500, body, retryAfterMs: undefined }, why: 'the key could not be read' }
    }
    if (decision.ok) return decision
    const why = decision.reason
    return { answer: refusalOfFault(401, { kind: 'Unauthorized', why }), why }
  }
}

export function refusal(status: number, code: number, message: string): Answer {
  return { status, body: renderErrorAnswer('null', { code, message }), retryAfterMs: undefined }
}

export function refusalOfFault(status: number, fault: Fault): Answer {
  const retryAfterMs = 'retryAfterMs' in fault ? fault.retryAfterMs : undefined
  return { status, body: renderErrorAnswer('null', faultToWireError(fault)), retryAfterMs }
}

export const unknownNetwork: Refusal = {
  answer: refusal(404, -32600, 'no such network'),
  why: 'unknown network',
}

export const foreignHost: Refusal = {
  answer: refusal(403, -32001, 'forbidden: this host name is not served here; allowedHosts can allow it'),
  why: 'host name',
}

function keyMissing(form: string): AccessDecision {
  return { ok: false, reason: `an API key is required in the path: ${form}` }
}
