import type { Transport } from './wire.js'

/** Loads the library of a transport, which nothing else does: where uWebSockets.js cannot be loaded, all else runs. */
export async function loadTransport(): Promise<Transport> {
  return (await import('./uws/uwsWire.js')).uwsTransport
}
