/**
 * The table of the admin API: its paths, their requests and answers, and the services that they call. Owns no data;
 * {@link ApiServices} has it.
 */
import type * as z from 'zod'
import { type KeySettings, keySettingsSchema } from '../../serving/access/keySettings.js'
import * as shapes from './shapes.js'

export interface ApiServices {
  readLive(): shapes.LiveState
  readHistory(query: shapes.HistoryQuery): shapes.CallHistory
  readNetworks(): shapes.Network[]
  /** Newest first. Throws UsageError if no network with blocks has this name. */
  readLastBlocks(network: string): shapes.LastBlock[]
  /** Throws UsageError if no rollup has this name. */
  readSubmissions(network: string): Promise<shapes.Submissions>
  readKeys(): shapes.Key[]
  /** `address` is that of the operator who changes keys, for the audit log. */
  createKey(settings: KeySettings, address: string): Promise<shapes.NewKey>
  /** This and the next two reject with UnknownKey if there is no key with this id. */
  setKey(id: string, settings: KeySettings, address: string): Promise<shapes.Key>
  rotateKey(id: string, rotation: shapes.Rotation, address: string): Promise<shapes.NewKey>
  revokeKey(id: string, address: string): Promise<shapes.Key>
  readPlayground(): shapes.Playground
  /** Throws UsageError if no network has this name. */
  callMethod(network: string, call: shapes.RpcCall): Promise<shapes.RpcAnswer>
  readAudit(query: shapes.AuditQuery): shapes.AuditEntry[]
  readUsage(query: shapes.UsageQuery): Promise<shapes.Usage>
}

/** A request that fits its route. */
interface ApiCall {
  /** The segment of the path at `{id}`. */
  readonly id: string
  /** IP address of the client. */
  readonly address: string
  readonly query: unknown
  readonly body: unknown
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Path with `{id}` for a variable segment. */
  readonly path: string
  readonly summary: string
  readonly query: z.ZodObject | undefined
  readonly body: z.ZodType | undefined
  readonly answer: z.ZodType
  /** Whether the answer is an endless stream of server-sent events. */
  readonly isStream: boolean
  readonly status: 200 | 201
  run(services: ApiServices, call: ApiCall): unknown
}

interface RouteOf<A extends z.ZodType, Q extends z.ZodObject, B extends z.ZodType>
  extends Pick<Route, 'method' | 'path' | 'summary'>,
    Partial<Pick<Route, 'isStream' | 'status'>> {
  readonly query?: Q
  readonly body?: B
  readonly answer: A
  run(
    services: ApiServices,
    call: Pick<ApiCall, 'id' | 'address'> & { readonly query: z.output<Q>; readonly body: z.output<B> },
  ): z.output<A> | Promise<z.output<A>>
}

function route<A extends z.ZodType, Q extends z.ZodObject, B extends z.ZodType>(of: RouteOf<A, Q, B>): Route {
  const { query, body, isStream = false, status = 200 } = of
  // The handler gets `query` and `body` of a call as parsed by these schemas.
  return { ...of, query, body, isStream, status, run: of.run as Route['run'] }
}

export const routes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/state',
    summary: 'What the process does at the moment.',
    answer: shapes.liveState,
    run: (services) => services.readLive(),
  }),
  route({
    method: 'GET',
    path: '/api/live',
    summary: 'As /api/state, at once and each second, as the data of server-sent events named "state".',
    answer: shapes.liveState,
    isStream: true,
    run: (services) => services.readLive(),
  }),
  route({
    method: 'GET',
    path: '/api/history',
    summary: 'Rates and times of the last hour or day, of all methods or one, by method, code and key.',
    query: shapes.historyQuery,
    answer: shapes.callHistory,
    run: (services, { query }) => services.readHistory(query),
  }),
  route({
    method: 'GET',
    path: '/api/networks',
    summary: 'The networks that are served, the default one first.',
    answer: shapes.network.array(),
    run: (services) => services.readNetworks(),
  }),
  route({
    method: 'GET',
    path: '/api/networks/{id}/blocks',
    summary: 'The newest blocks of a network, newest first.',
    answer: shapes.lastBlock.array(),
    run: (services, { id }) => services.readLastBlocks(id),
  }),
  route({
    method: 'GET',
    path: '/api/networks/{id}/submissions',
    summary: 'The transactions of a rollup that wait longest for its sequencer.',
    answer: shapes.submissions,
    run: (services, { id }) => services.readSubmissions(id),
  }),
  route({
    method: 'GET',
    path: '/api/keys',
    summary: 'All API keys, revoked ones too, oldest first.',
    answer: shapes.key.array(),
    run: (services) => services.readKeys(),
  }),
  route({
    method: 'POST',
    path: '/api/keys',
    summary: 'Makes an API key. What is not set is not limited.',
    body: keySettingsSchema,
    answer: shapes.newKey,
    status: 201,
    run: (services, { body, address }) => services.createKey(body, address),
  }),
  route({
    method: 'POST',
    path: '/api/keys/{id}',
    summary: 'Changes what the body has of a key; a list replaces the one before, null removes a limit.',
    body: keySettingsSchema,
    answer: shapes.key,
    run: (services, { id, body, address }) => services.setKey(id, body, address),
  }),
  route({
    method: 'POST',
    path: '/api/keys/{id}/rotate',
    summary: 'Gives a key a new secret; the earlier one ends after the overlap.',
    body: shapes.rotation,
    answer: shapes.newKey,
    run: (services, { id, body, address }) => services.rotateKey(id, body, address),
  }),
  route({
    method: 'DELETE',
    path: '/api/keys/{id}',
    summary: 'Revokes a key for good, in force within a second.',
    answer: shapes.key,
    run: (services, { id, address }) => services.revokeKey(id, address),
  }),
  route({
    method: 'GET',
    path: '/api/audit',
    summary: 'Entries of the audit log, newest first.',
    query: shapes.auditQuery,
    answer: shapes.auditEntry.array(),
    run: (services, { query }) => services.readAudit(query),
  }),
  route({
    method: 'GET',
    path: '/api/usage',
    summary:
      'What keys used until now, added up by the groups in "by", by time and then units. Whole hours are counted, in UTC. At most 10,000 rows.',
    query: shapes.usageQuery,
    answer: shapes.usage,
    run: (services, { query }) => services.readUsage(query),
  }),
  route({
    method: 'GET',
    path: '/api/playground',
    summary: 'Networks, and the methods that can be called on them.',
    answer: shapes.playground,
    run: (services) => services.readPlayground(),
  }),
  route({
    method: 'POST',
    path: '/api/networks/{id}/call',
    summary: 'Calls a method of a network without a key; the call is counted as any other.',
    body: shapes.rpcCall,
    answer: shapes.rpcAnswer,
    run: (services, { id, body }) => services.callMethod(id, body),
  }),
]

/**
 * The route of a path and method. Returns the allowed methods if the path has only others, undefined for an unknown
 * path.
 */
export function findRoute(
  path: string,
  method: string,
): { readonly route: Route; readonly id: string } | { readonly allow: readonly string[] } | undefined {
  const fitting = routes.flatMap((route) => {
    const id = matchPath(route.path, path)
    return id === undefined ? [] : [{ route, id }]
  })
  if (fitting.length === 0) return undefined
  const asked = method === 'HEAD' ? 'GET' : method
  const found = fitting.find(({ route }) => route.method === asked)
  if (found !== undefined) return found
  return {
    allow: fitting.flatMap(({ route }) => (route.method === 'GET' ? ['GET', 'HEAD'] : [route.method])),
  }
}

/** The part of `path` at `{id}` in `pattern`, '' if the pattern has none; undefined if the path does not fit. */
function matchPath(pattern: string, path: string): string | undefined {
  const [before = '', after] = pattern.split('{id}')
  if (after === undefined) return path === pattern ? '' : undefined
  if (!path.startsWith(before) || !path.endsWith(after)) return undefined
  const id = path.slice(before.length, path.length - after.length)
  return id !== '' && !id.includes('/') ? id : undefined
}
