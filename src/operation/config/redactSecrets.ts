import { redactUrl } from '../../primitives/redactUrl.js'

/** Keys whose texts are URLs of nodes, also where somebody writes one in place of an object. */
const urlKey = /url$|^upstreams?$/i

/**
 * A copy of a value of the configuration file, or of what was meant as one, that may be shown: of URLs scheme and host,
 * of headers the names. `path` leads to the value; its last key tells what the value is.
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
