import { STATUS_CODES } from 'node:http'

/** Whether answers with this status have no body, and therefore no content type and length. */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304
}

export function statusReason(status: number): string {
  // The name of RFC 9110; Node.js has an older one.
  return status === 413 ? 'Content Too Large' : (STATUS_CODES[status] ?? '')
}
