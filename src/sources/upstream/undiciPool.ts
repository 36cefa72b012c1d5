/**
 * The pool of connections of undici, without the rest of that package: its fetch, WebSocket, caches and mocks. To load
 * them takes 70 ms of CPU in each thread. Owns the paths within the package, whose version is pinned.
 */
import { createRequire } from 'node:module'
import type { Dispatcher, Pool } from 'undici'

const require = createRequire(import.meta.url)

/** Connections to one origin. */
export function openUndiciPool(origin: string, options: Pool.Options): Dispatcher {
  const { prototype } = require('undici/lib/dispatcher/dispatcher.js') as { prototype: Dispatcher }
  // The package's own entry does the same for all its methods.
  prototype.request ??= require('undici/lib/api/api-request.js') as Dispatcher['request']
  const Undici = require('undici/lib/dispatcher/pool.js') as typeof Pool
  return new Undici(origin, options)
}
