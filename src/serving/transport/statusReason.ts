import { STATUS_CODES } from 'node:http'

/** Whether answers with this status have no body, and so neither its type nor its length. */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304
}

export function statusReason(status: number): string {
  // As RFC 9110 has it; Node.js has the name of an older one.
  return status === 413 ? 'Content Too Large' : (STATUS_CODES[status] ?? '')
}
