import type { CorsOrigins } from './cors.js'
import type { RequestLogSettings } from './requestLog.js'
import type { TlsFiles } from './tlsFiles.js'

/** Settings that may change while a server runs. */
export interface ServerSettings {
  readonly cors: CorsOrigins
  /** Network → host names that address it; see {@link Route.hosts}. */
  readonly hosts: ReadonlyMap<string, readonly string[]>
  /** Allowed host names besides addresses and `localhost`, in lower case; undefined: all. */
  readonly allowedHosts: readonly string[] | undefined
  /** IP addresses and networks of proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[]
  readonly requestLog: RequestLogSettings
  /** The files are read again at each change. Ignored by a server without TLS. */
  readonly tls: TlsFiles | undefined
}
