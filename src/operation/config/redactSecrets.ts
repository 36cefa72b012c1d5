import { redactUrl } from '../../primitives/redactUrl.js'

/** Keys whose values are URLs of nodes, also if an object was expected. */
const urlKey = /url$|^upstreams?$/i

/**
 * A copy of a value of the configuration file, or of an invalid one, without secrets: URLs keep scheme and host,
 * headers their names. `path` leads to the value; its last key gives the kind of the value.
 */
export function redactSecrets(value: unknown, path: readonly PropertyKey[] = []): unknown {
  const key = String(path.findLast((step) => typeof step !== 'number') ?? '')
  if (Array.isArray(value)) return value.map((item, index) => redactSecrets(item, [...path, index]))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, redactSecrets(inner, [...path, name])]),
    )
  }
  if (path.includes('headers')) return value === '' ? value : '…'
  if (typeof value !== 'string') return value
  return urlKey.test(key) || value.includes('://') ? redactUrl(value) : value
}
