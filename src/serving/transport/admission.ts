/**
 * Admits requests over HTTP and WebSocket: finds the network by path or host name, and checks the API key and its
 * scopes. Makes the answers of refusals. Does not own keys (it calls `authorize`) nor the shapes of paths (paths.ts).
 */

import type { Fault } from '../../primitives/faults.js'
import type { RefusalReason } from '../../primitives/refusalReasons.js'
import type { Credential } from '../access/keyChecker.js'
import type { KeyScope } from '../access/keyScope.js'
import type { Answer } from '../rpc/answers/answer.js'
import {
  type DefectLog,
  faultToWireError,
  renderErrorAnswer,
  thrownToWireError,
} from '../rpc/answers/wireErrors.js'
import { type Allowance, anonymousId, type Identity, ownCallerId } from '../rpc/contexts/requestContext.js'
import type { Endpoint } from '../rpc/dispatch/endpoint.js'
import { hostName } from './hostGate.js'
import type { PathTarget } from './paths.js'

/** A network under its own path `/<name>/v3/<key>`. */
export interface Route {
  readonly name: string
  readonly endpoint: Endpoint
  /** Host names, without port; a path without a network then means this network. */
  readonly hosts: readonly string[]
}

type AccessDecision =
  | Allowed
  /**
   * `retryAfterMs`: time until a retry, if the key's validity cannot be checked at the moment. `keyId`: of a key that
   * has ended.
   */
  | {
      readonly ok: false
      readonly reason: string
      readonly retryAfterMs?: number
      readonly keyId?: string | undefined
    }

export interface Allowed extends Identity {
  readonly ok: true
  /** The credentials by which {@link AdmissionOptions.authorize} knows the presented keys and tokens. */
  readonly credentials: readonly Credential[]
  /** The places where the key may be used; if absent, all. */
  readonly scope?: UseScope | undefined
  /** End of the key, or of the token that stands for it; if absent, never. */
  readonly untilMs?: number | undefined
}

type UseScope = Pick<KeyScope, 'allowsNetwork' | 'allowsOrigin' | 'allowsAddressOf'>

/** The place where a key is used, from a request's head, or as a WebSocket stores it. */
export interface KeyUse {
  readonly origin: string
  readonly address: string
}

interface PresentedKeys {
  /** Keys of the headers Authorization and X-API-Key; empty if absent. */
  readonly bearer: string
  readonly apiKey: string
}

/** A request refused before it reached an endpoint, for the log. `path` contains no key. */
export interface RefusedRequest {
  readonly status: number
  readonly path: string
  /** The client's address; see {@link RequestHead.address}. */
  readonly address: string
  readonly reason: RefusalReason
  readonly why: string
  /** Undefined if no key is known. */
  readonly keyId: string | undefined
}

/** A refusal: its answer, its reason for metrics, and `why` for the log, which contains no key. */
export interface Refusal {
  readonly answer: Answer
  readonly reason: RefusalReason
  readonly why: string
  /** Absent if no key is known. */
  readonly keyId?: string
}

export interface AdmissionOptions {
  /** The first is the default network. The names `v3`, `ws` and `health` are reserved. */
  readonly routes: readonly Route[]
  /**
   * Whether a key is accepted, or an accepted credential is still valid. Throws if the keys cannot be read. `reason`
   * completes `unauthorized: …` and must not contain the key. `from`: the place of use.
   */
  authorize(key: string | Credential, from: KeyUse): AccessDecision
  /** Ids of keys changed since the last call; undefined if any may have changed. Throws if they cannot be read. */
  changedKeys(): readonly string[] | undefined
  readonly logDefect: DefectLog
  /** No key is needed, and one in the path is ignored. */
  readonly noAuth: boolean
  /** The allowance that all callers share if no key is needed; if absent, no limit. */
  readonly anonymousAllowance?: Allowance | undefined
}

const reservedNames: ReadonlySet<string> = new Set(['v3', 'ws', 'health'])

export class Admission {
  readonly #networks = new Map<string, Route>()
  #hosts: ReadonlyMap<string, Route> = new Map()
  readonly #default: Route | undefined
  readonly #options: AdmissionOptions
  readonly #anonymous: Allowed
  /** Key of the only caller; if undefined, the keys of clients count. */
  #onlyKey: string | undefined

  /** Throws RangeError if two networks have the same name, or one has a reserved name. */
  constructor(options: AdmissionOptions) {
    this.#options = options
    const { anonymousAllowance: allowance } = options
    this.#anonymous = { ok: true, credentials: [], key: { id: anonymousId }, allowance }
    this.#default = options.routes[0]
    for (const route of options.routes) {
      const { name } = route
      if (reservedNames.has(name) || this.#networks.has(name)) {
        throw new RangeError(`network name is taken: ${name}`)
      }
      this.#networks.set(name, route)
    }
    this.setHosts(new Map(options.routes.map(({ name, hosts }) => [name, hosts])))
  }

  /** Replaces the host names of all networks; names of unknown networks are ignored. */
  setHosts(hostsOf: ReadonlyMap<string, readonly string[]>): void {
    const routes = new Map<string, Route>()
    for (const [name, hosts] of hostsOf) {
      const route = this.#networks.get(name)
      if (route !== undefined) for (const host of hosts) routes.set(host.toLowerCase(), route)
    }
    this.#hosts = routes
  }

  /**
   * Admits only requests with this key in their path, as {@link ownCaller}; if undefined, requests with keys of clients
   * again.
   */
  admitOnly(key: string | undefined): void {
    this.#onlyKey = key
  }

  /** The network of the path, or else of the Host header, or else the default. */
  findRoute(target: PathTarget, host: string): Route | undefined {
    if (target.network !== undefined) return this.#networks.get(target.network)
    if (this.#hosts.size === 0) return this.#default
    return this.#hosts.get(hostName(host)) ?? this.#default
  }

  /** Checks the keys of a request and their scopes. `form` shows in the refusal the key's place in a path. */
  admit(
    route: Route,
    pathKey: string | undefined,
    use: KeyUse & PresentedKeys,
    form: string,
  ): Allowed | Refusal {
    if (this.#onlyKey !== undefined) return pathKey === this.#onlyKey ? ownCaller : notYet
    if (this.#options.noAuth) return this.#anonymous
    const { bearer, apiKey } = use
    const isInPath = bearer === '' && apiKey === ''
    const admitted = isInPath
      ? this.#check(pathKey, use, form)
      : this.#checkAll([pathKey ?? '', apiKey, bearer], use)
    return inScope(admitted, route, use)
  }

  /** Checks again whether an admitted caller is still admitted, with the current state of its keys. */
  admitAgain(route: Route, { credentials }: Allowed, use: KeyUse): Allowed | Refusal {
    return this.#options.noAuth ? this.#anonymous : inScope(this.#checkAll(credentials, use), route, use)
  }

  #check(key: string | Credential | undefined, use: KeyUse, form: string): Allowed | Refusal {
    let decision: AccessDecision
    try {
      decision = key === undefined ? keyMissing(form) : this.#options.authorize(key, use)
    } catch (error) {
      const body = renderErrorAnswer('null', thrownToWireError(error, 'API key', this.#options.logDefect))
      const answer = { status: 500, body, retryAfterMs: undefined }
      return { answer, reason: 'defect', why: 'the key could not be read' }
    }
    if (decision.ok) return decision
    const { reason: why, retryAfterMs, keyId } = decision
    const ofKey = keyId === undefined ? {} : { keyId }
    if (retryAfterMs !== undefined) {
      const answer = refusalOfFault(503, { kind: 'ServerBusy', why, retryAfterMs })
      return { answer, reason: 'busy', why, ...ofKey }
    }
    return { answer: refusalOfFault(401, { kind: 'Unauthorized', why }), reason: 'key', why, ...ofKey }
  }

  /** All keys that are not empty must be valid and belong to one key; the earliest end counts. */
  #checkAll(keys: readonly (string | Credential)[], use: KeyUse): Allowed | Refusal {
    let first: Allowed | undefined
    for (const key of keys) {
      if (key === '') continue
      const checked = this.#check(key, use, '')
      if ('why' in checked) return checked
      if (first !== undefined && first.key.id !== checked.key.id) return keysDiffer
      first = first === undefined ? checked : both(first, checked)
    }
    return first as Allowed
  }
}

function both(one: Allowed, other: Allowed): Allowed {
  const first = endOf(other) < endOf(one) ? other : one
  return { ...first, credentials: [...one.credentials, ...other.credentials] }
}

function inScope(admitted: Allowed | Refusal, { name }: Route, use: KeyUse): Allowed | Refusal {
  if ('why' in admitted || admitted.scope === undefined) return admitted
  const refused = outOfScope(admitted.scope, name, use)
  return refused === undefined ? admitted : { ...refused, keyId: admitted.key.id }
}

/** The refusal of a use outside the scope of its key; undefined if it is inside. */
function outOfScope(scope: UseScope, network: string, use: KeyUse): Refusal | undefined {
  if (!scope.allowsNetwork(network)) {
    const answer = refusalOfFault(403, { kind: 'NetworkNotAllowed', network })
    return { answer, reason: 'key network', why: 'network outside the scope of the key' }
  }
  if (!scope.allowsOrigin(use.origin)) return wrongOrigin
  return scope.allowsAddressOf(use) ? undefined : wrongAddress
}

export function refusal(status: number, code: number, message: string): Answer {
  return { status, body: renderErrorAnswer('null', { code, message }), retryAfterMs: undefined }
}

export function refusalOfFault(status: number, fault: Fault): Answer {
  const retryAfterMs = 'retryAfterMs' in fault ? fault.retryAfterMs : undefined
  return { status, body: renderErrorAnswer('null', faultToWireError(fault)), retryAfterMs }
}

export const unknownNetwork: Refusal = {
  answer: refusal(
    404,
    -32600,
    'no such network: /health names those that are served; a key stands behind /v3/',
  ),
  reason: 'path',
  why: 'unknown network',
}

export const foreignHost: Refusal = {
  answer: refusal(403, -32001, 'forbidden: this host name is not served here; allowedHosts can allow it'),
  reason: 'host',
  why: 'host name',
}

/** The caller of a server's calls to itself: no key of the store, without limits. */
const ownCaller: Allowed = { ok: true, credentials: [], key: { id: ownCallerId }, allowance: undefined }

const notYet: Refusal = {
  answer: refusalOfFault(503, { kind: 'ServerBusy', why: 'the server is starting', retryAfterMs: 1_000 }),
  reason: 'busy',
  why: 'not listening yet',
}

function endOf({ untilMs }: Allowed): number {
  return untilMs ?? Number.POSITIVE_INFINITY
}

const keysDiffer: Refusal = {
  answer: refusal(400, -32600, 'the path and the headers of this request have different API keys'),
  reason: 'key',
  why: 'different keys',
}
const wrongOrigin: Refusal = {
  answer: refusal(403, -32001, 'forbidden: this API key may not be used from this origin'),
  reason: 'key origin',
  why: 'origin outside the scope of the key',
}
const wrongAddress: Refusal = {
  answer: refusal(403, -32001, 'forbidden: this API key may not be used from this address'),
  reason: 'key address',
  why: 'address outside the scope of the key',
}

function keyMissing(form: string): AccessDecision {
  return {
    ok: false,
    reason: `an API key is required in the path: ${form}, or in the header Authorization: Bearer <key>`,
  }
}
