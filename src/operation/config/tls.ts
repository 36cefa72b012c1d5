/** `tls` of the configuration file: the files of the certificate that the server shows. */
import { object, text } from './schema.js'

export const tlsSchema = object({
  /** PEM; the certificate first, then the chain to the authority. */
  cert: text('the path of a PEM file'),
  /** PEM, without a passphrase. */
  key: text('the path of a PEM file'),
})
