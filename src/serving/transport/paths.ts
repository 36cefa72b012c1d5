/** A parsed request path. The key is a secret: log {@link redactPath} instead of a path. */
export interface PathTarget {
  /** Undefined for the default network. */
  readonly network: string | undefined
  /** Undefined when the path has no key. */
  readonly key: string | undefined
}

/** The path's version segment; no network may have this name. */
const versionSegment = 'v3'

/**
 * Parses a path: `/`, `/<network>`, `/v3/<key>`, `/<network>/v3/<key>`; undefined for any other.
 *
 * Segments are compared as written, without percent-decoding. Keys and network names need none, and a proxy cannot read
 * a path differently from this server. One slash at the end is ignored, because configured base addresses often have
 * it.
 */
export function parsePath(path: string): PathTarget | undefined {
  const end = path.length > 1 && path.endsWith('/') ? path.length - 1 : path.length
  if (path.charCodeAt(0) !== 0x2f) return undefined
  if (path.startsWith('/v3/')) return keyTarget(undefined, path, 4, end)
  if (end === 1) return { network: undefined, key: undefined }
  const second = path.indexOf('/', 1)
  const first = path.slice(1, second === -1 ? end : Math.min(second, end))
  if (first === versionSegment) return { network: undefined, key: undefined }
  if (first === '') return undefined
  if (second === -1 || second === end) return { network: first, key: undefined }
  if (path.slice(second, end) === '/v3') return { network: first, key: undefined }
  if (!path.startsWith('/v3/', second)) return undefined
  return keyTarget(first, path, second + 4, end)
}

function keyTarget(
  network: string | undefined,
  path: string,
  start: number,
  end: number,
): PathTarget | undefined {
  if (start >= end) return { network, key: undefined }
  const slash = path.indexOf('/', start)
  if (slash !== -1 && slash < end) return undefined
  return { network, key: path.slice(start, end) }
}

/** A parsed path of a resource: `segments` are those after the key. */
export interface ResourcePath {
  readonly target: PathTarget
  readonly segments: readonly string[]
}

const resourcePathPattern = /^(?:\/([^/]+))?\/v3\/([^/]+)\/(.+)$/

/** Parses a resource's path: `/v3/<key>/<…>`, `/<network>/v3/<key>/<…>`; compared as in {@link parsePath}. */
export function parseResourcePath(path: string): ResourcePath | undefined {
  const match = resourcePathPattern.exec(path)
  if (match === null) return undefined
  return { target: { network: match[1], key: match[2] }, segments: (match[3] as string).split('/') }
}

const socketPathPattern = /^(?:\/([^/]+))?\/ws(?:\/v3(?:\/([^/]+))?)?\/?$/

/** Parses a WebSocket path: `/ws`, `/<network>/ws`, `/ws/v3/<key>`, `/<network>/ws/v3/<key>`; as {@link parsePath}. */
export function parseSocketPath(path: string): PathTarget | undefined {
  const match = socketPathPattern.exec(path)
  return match === null ? undefined : { network: match[1], key: match[2] }
}

/** A path for the log. A path of unknown shape is hidden completely, because a key may be anywhere in it. */
export function redactPath(path: string): string {
  const socketTarget = parseSocketPath(path)
  const resource = parseResourcePath(path)
  const target = socketTarget ?? parsePath(path) ?? resource?.target
  if (target === undefined) return '(unknown path)'
  const network = target.network === undefined ? '' : '/(network)'
  const base = socketTarget === undefined ? network : `${network}/ws`
  if (target.key === undefined) return base || '/'
  return `${base}/${versionSegment}/(key)${resource === undefined ? '' : '/(resource)'}`
}
