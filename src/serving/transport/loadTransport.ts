import type { Transport } from './wire.js'

/** Nothing else imports the libraries, so the program runs where uWebSockets.js cannot be loaded. */
export async function loadTransport(name: Transport['name']): Promise<Transport> {
  return name === 'node'
    ? (await import('./node/nodeWire.js')).nodeTransport
    : (await import('./uws/uwsWire.js')).uwsTransport
}
