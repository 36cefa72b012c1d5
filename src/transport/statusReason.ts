const reasons: ReadonlyMap<number, string> = new Map([
  [200, 'OK'],
  [204, 'No Content'],
  [304, 'Not Modified'],
  [400, 'Bad Request'],
  [401, 'Unauthorized'],
  [403, 'Forbidden'],
  [404, 'Not Found'],
  [405, 'Method Not Allowed'],
  [408, 'Request Timeout'],
  [413, 'Content Too Large'],
  [415, 'Unsupported Media Type'],
  [426, 'Upgrade Required'],
  [429, 'Too Many Requests'],
  [431, 'Request Header Fields Too Large'],
  [500, 'Internal Server Error'],
  [503, 'Service Unavailable'],
])

/** Whether answers with this status have no body, and so neither its type nor its length. */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304
}

/** The reason phrase of a status, from RFC 9110. Throws RangeError for a status that this server never sends. */
export function statusReason(status: number): string {
  const reason = reasons.get(status)
  if (reason === undefined) throw new RangeError(`no reason phrase for status ${status}`)
  return reason
}
