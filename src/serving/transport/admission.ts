/**
 * Admits requests, over HTTP and WebSocket alike: finds the network by path or host name, checks the API key and its
 * scopes, and makes the answers of refusals. Does not own keys (it calls `authorize`) nor the shapes of paths (paths.ts).
 */

import type { Fault } from '../../primitives/faults.js'
import type { Credential } from '../access/keyChecker.js'
import type { KeyScope } from '../access/keyScope.js'
import type { Answer } from '../rpc/answers/answer.js'
import {
  type DefectLog,
  faultToWireError,
  renderErrorAnswer,
  thrownToWireError,
} from '../rpc/answers/wireErrors.js'
import { type Allowance, anonymousId, type Identity } from '../rpc/contexts/requestContext.js'
import type { Endpoint } from '../rpc/dispatch/endpoint.js'
import { hostName } from './hostGate.js'
import type { PathTarget } from './paths.js'

/** A network under its own path `/<name>/v3/<key>`. */
export interface Route {
  readonly name: string
  readonly endpoint: Endpoint
  /** Host names, without port, at which a path without a network means this one. */
  readonly hosts: readonly string[]
}

type AccessDecision =
  | Allowed
  /** `retryAfterMs`: when to ask again, where nobody can tell at the moment whether the key is valid. */
  | { readonly ok: false; readonly reason: string; readonly retryAfterMs?: number }

export interface Allowed extends Identity {
  readonly ok: true
  /** By which {@link AdmissionOptions.authorize} knows all that was presented. */
  readonly credentials: readonly Credential[]
  /** Where the key may be used; absent: anywhere. */
  readonly scope?: UseScope | undefined
  /** When the key, or what stood for it, ends; absent: never. */
  readonly untilMs?: number | undefined
}

type UseScope = Pick<KeyScope, 'allowsNetwork' | 'allowsOrigin' | 'allowsAddressOf'>

/** What a request says of where a key is used: its head, or what a WebSocket keeps of it. */
export interface KeyUse {
  readonly origin: string
  readonly address: string
}

interface PresentedKeys {
  /** Keys of the headers Authorization and X-API-Key; empty where there are none. */
  readonly bearer: string
  readonly apiKey: string
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
   * Whether a key is accepted, or what was accepted before still is; throws where the keys cannot be read. `reason`
   * completes `unauthorized: …` and must not contain the key. `from`: where it comes from.
   */
  authorize(key: string | Credential, from: KeyUse): AccessDecision
  /** Ids of keys changed since the last call; undefined where any may have. Throws where they cannot be read. */
  changedKeys(): readonly string[] | undefined
  readonly logDefect: DefectLog
  /** No key is needed, and one in the path is ignored. */
  readonly noAuth: boolean
  /** The allowance that all callers share where no key is needed; absent: no limit. */
  readonly anonymousAllowance?: Allowance | undefined
}

const reservedNames: ReadonlySet<string> = new Set(['v3', 'ws', 'health'])

export class Admission {
  readonly #networks = new Map<string, Route>()
  #hosts: ReadonlyMap<string, Route> = new Map()
  readonly #default: Route | undefined
  readonly #options: AdmissionOptions
  readonly #anonymous: Allowed

  /** Throws RangeError where two networks have the same name, or one has a reserved name. */
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

  /** Replaces the host names of all networks; names of networks that are not served are ignored. */
  setHosts(hostsOf: ReadonlyMap<string, readonly string[]>): void {
    const routes = new Map<string, Route>()
    for (const [name, hosts] of hostsOf) {
      const route = this.#networks.get(name)
      if (route !== undefined) for (const host of hosts) routes.set(host.toLowerCase(), route)
    }
    this.#hosts = routes
  }

  /** The network that a path names, or else the Host header, or else the default. */
  findRoute(target: PathTarget, host: string): Route | undefined {
    if (target.network !== undefined) return this.#networks.get(target.network)
    if (this.#hosts.size === 0) return this.#default
    return this.#hosts.get(hostName(host)) ?? this.#default
  }

  /** Checks the keys of a request and their scopes. `form` shows in the refusal where in a path the key belongs. */
  admit(
    route: Route,
    pathKey: string | undefined,
    use: KeyUse & PresentedKeys,
    form: string,
  ): Allowed | Refusal {
    if (this.#options.noAuth) return this.#anonymous
    const { bearer, apiKey } = use
    const isInPath = bearer === '' && apiKey === ''
    const admitted = isInPath
      ? this.#check(pathKey, use, form)
      : this.#checkAll([pathKey ?? '', apiKey, bearer], use)
    return inScope(admitted, route, use)
  }

  /** Whether what was admitted before is so still, by what its keys are now. */
  admitAgain(route: Route, { credentials }: Allowed, use: KeyUse): Allowed | Refusal {
    return this.#options.noAuth ? this.#anonymous : inScope(this.#checkAll(credentials, use), route, use)
  }

  #check(key: string | Credential | undefined, use: KeyUse, form: string): Allowed | Refusal {
    let decision: AccessDecision
    try {
      decision = key === undefined ? keyMissing(form) : this.#options.authorize(key, use)
    } catch (error) {
      const body = renderErrorAnswer('null', thrownToWireError(error, 'API key', this.#options.logDefect))
      return { answer: { status: 500, body, retryAfterMs: undefined }, why: 'the key could not be read' }
    }
    if (decision.ok) return decision
    const { reason: why, retryAfterMs } = decision
    if (retryAfterMs !== undefined) {
      return { answer: refusalOfFault(503, { kind: 'ServerBusy', why, retryAfterMs }), why }
    }
    return { answer: refusalOfFault(401, { kind: 'Unauthorized', why }), why }
  }

  /** All that are not empty must be valid and of one key; the one that ends first counts. */
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
  return outOfScope(admitted.scope, name, use) ?? admitted
}

/** Why a use is outside the scope of its key; undefined where it is inside. */
function outOfScope(scope: UseScope, network: string, use: KeyUse): Refusal | undefined {
  if (!scope.allowsNetwork(network)) {
    const answer = refusalOfFault(403, { kind: 'NetworkNotAllowed', network })
    return { answer, why: 'network outside the scope of the key' }
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
  why: 'unknown network',
}

export const foreignHost: Refusal = {
  answer: refusal(403, -32001, 'forbidden: this host name is not served here; allowedHosts can allow it'),
  why: 'host name',
}

function endOf({ untilMs }: Allowed): number {
  return untilMs ?? Number.POSITIVE_INFINITY
}

const keysDiffer: Refusal = {
  answer: refusal(400, -32600, 'the path and the headers of this request have different API keys'),
  why: 'different keys',
}
const wrongOrigin: Refusal = {
  answer: refusal(403, -32001, 'forbidden: this API key may not be used from this origin'),
  why: 'origin outside the scope of the key',
}
const wrongAddress: Refusal = {
  answer: refusal(403, -32001, 'forbidden: this API key may not be used from this address'),
  why: 'address outside the scope of the key',
}

function keyMissing(form: string): AccessDecision {
  return {
    ok: false,
    reason: `an API key is required in the path: ${form}, or in the header Authorization: Bearer <key>`,
  }
}
