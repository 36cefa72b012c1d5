import type { Transport } from './wire.js'

/** The only import of the libraries, so that the program runs even if uWebSockets.js cannot be loaded. */
export async function loadTransport(name: Transport['name']): Promise<Transport> {
  return name === 'node'
    ? (await import('./node/nodeWire.js')).nodeTransport
    : (await import('./uws/uwsWire.js')).uwsTransport
}
