/** `tls` of the configuration file: the files of the certificate that the server shows. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import * as z from 'zod'
import { object, text } from './schema.js'

export const tlsSchema = object({
  /** PEM; the certificate first, then those that lead to the authority. */
  cert: text('the path of a PEM file'),
  /** PEM, without a passphrase. */
  key: text('the path of a PEM file'),
})

export type TlsConfig = z.output<typeof tlsSchema>

const pathsSchema = z
  .object({
    cert: z.string().min(1).optional().catch(undefined),
    key: z.string().min(1).optional().catch(undefined),
  })
  .optional()
  .catch(undefined)

/** Faults of files that are named and not there. */
export function findTlsFaults(raw: unknown, folder: string): string[] {
  const files = Object.entries(pathsSchema.parse(raw) ?? {})
  return files.flatMap(([name, file]) =>
    file === undefined || existsSync(resolve(folder, file))
      ? []
      : [`tls.${name}: there is no file ${resolve(folder, file)}`],
  )
}

export function withAbsoluteTls({ cert, key }: TlsConfig, folder: string): TlsConfig {
  return { cert: resolve(folder, cert), key: resolve(folder, key) }
}
