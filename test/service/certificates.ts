/** Certificates for tests, made by openssl. */
import { spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Reason to skip tests that need certificates; false if they can be made. */
export const withoutOpenssl = spawnSync('openssl', ['version']).status !== 0 && 'there is no openssl here'

export interface Certificate {
  readonly cert: string
  readonly key: string
  readonly fingerprint: string
}

/** Makes a self-signed certificate for 127.0.0.1 and localhost in a folder. */
export function makeCertificate(folder: string, name: string): Certificate {
  const cert = join(folder, `${name}.pem`)
  const key = join(folder, `${name}.key`)
  const names = 'subjectAltName=IP:127.0.0.1,DNS:localhost'
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
  const words = ['req', '-x509', ...curve, '-nodes', '-days', '36500', '-subj', '/CN=test', '-addext', names]
  const { status, stderr } = spawnSync('openssl', [...words, '-keyout', key, '-out', cert])
  if (status !== 0) throw new Error(String(stderr))
  return { cert, key, fingerprint: new X509Certificate(readFileSync(cert)).fingerprint256 }
}
