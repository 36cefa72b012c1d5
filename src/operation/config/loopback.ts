import { isIPv4 } from 'node:net'

/** Whether only this machine can connect to a listener on `host`. */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return host.startsWith('127.')
  return host === '::1' || host === '[::1]' || host.toLowerCase() === 'localhost'
}
