import type { CorsOrigins } from './cors.js'
import type { RequestLogSettings } from './requestLog.js'
import type { TlsFiles } from './tlsFiles.js'

/** What may change while a server runs. */
export interface ServerSettings {
  readonly cors: CorsOrigins
  /** Network → host names that address it; see {@link Route.hosts}. */
  readonly hosts: ReadonlyMap<string, readonly string[]>
  /** Host names that are answered besides addresses and `localhost`, in lower case; undefined: all are. */
  readonly allowedHosts: readonly string[] | undefined
  /** IP addresses and networks of proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[]
  readonly requestLog: RequestLogSettings
  /** Read anew each time. Ignored by a server without TLS. */
  readonly tls: TlsFiles | undefined
}
