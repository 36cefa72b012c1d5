import { createHmac } from 'node:crypto'

/** A token of a consensus client: a JSON Web Token (RFC 7519) signed with `secret`. */
export function tokenOf(secret: Uint8Array, claims: object, alg = 'HS256'): string {
  const part = (json: object) => Buffer.from(JSON.stringify(json)).toString('base64url')
  const signed = `${part({ alg, typ: 'JWT' })}.${part(claims)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}
