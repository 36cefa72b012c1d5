import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { OperatorError } from '../../primitives/faults.js'

/** Paths of PEM files: a certificate with its chain, and its key. */
export interface TlsFiles {
  readonly cert: string
  readonly key: string
}

/** The oldest supported version: RFC 8996 deprecates older ones. uWebSockets.js has the same minimum. */
export const tlsVersionMin = 'TLSv1.2'

/** The contents of both files. Throws OperatorError if they cannot be read, or do not belong together. */
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
