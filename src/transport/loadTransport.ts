import type { Transport } from './wire.js'

/** Loads the library of a transport, which nothing else does: where uWebSockets.js cannot be loaded, all else runs. */
export async function loadTransport(name: Transport['name']): Promise<Transport> {
  return name === 'node'
    ? (await import('./node/nodeWire.js')).nodeTransport
    : (await import('./uws/uwsWire.js')).uwsTransport
}
