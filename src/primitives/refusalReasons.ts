/**
 * Why a request or a WebSocket is refused before any method is called: a label for metrics, and its sentence for
 * operators. The log has the details of each refusal.
 */
export const refusalReasons = {
  malformed: 'The request is ambiguous, or a part of it cannot be read.',
  key: 'The request has no API key, or one that is unknown, expired or revoked.',
  'key network': 'The API key may not be used on this network.',
  'key origin': 'The API key may not be used on pages of this origin.',
  'key address': 'The API key may not be used from this address.',
  origin: 'Pages of this origin may not open WebSockets: "cors" allows others.',
  host: 'The host name is not served: "allowedHosts" allows others.',
  path: 'The path is unknown, or names no network that is served.',
  method: 'The HTTP method does not fit the path.',
  length: 'The body or the message is too long.',
  'content type': 'The content type or encoding of the body is not supported.',
  transport: 'The path is for WebSockets alone.',
  limit: 'The API key, or all callers, exceeded a number of requests or WebSockets.',
  busy: 'The server is stopping, or cannot check API keys at the moment.',
  defect: 'The server failed.',
} as const

export type RefusalReason = keyof typeof refusalReasons

export const refusalReasonNames = Object.keys(refusalReasons) as readonly RefusalReason[]
