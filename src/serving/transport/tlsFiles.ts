import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { OperatorError } from '../../primitives/faults.js'

/** Paths of PEM files: a certificate, with those that lead to its authority, and its key. */
export interface TlsFiles {
  readonly cert: string
  readonly key: string
}

/** The oldest version that is spoken: RFC 8996 deprecates those before. uWebSockets.js has the same. */
export const tlsVersionMin = 'TLSv1.2'

/** What both files hold. Throws OperatorError where they cannot be read, or do not belong to each other. */
export function readTlsFiles({ cert, key }: TlsFiles): { readonly cert: Buffer; readonly key: Buffer } {
  try {
    const found = { cert: readFileSync(cert), key: readFileSync(key) }
    createSecureContext(found)
    return found
  } catch (error) {
    const why = (error as Error).message
    throw new OperatorError(`the certificate ${cert} and the key ${key} cannot be used: ${why}`)
  }
}
