import type { Config, LogLevel } from '../config/config.js'
import type { ServerSettings } from '../transport/http.js'

/** What a reload of the configuration changes in an edge; crosses threads. */
export interface EdgeSettings extends ServerSettings {
  readonly logLevel: LogLevel
}

export function settingsOf({ logLevel, cors, tls, networks, rollups }: Config): EdgeSettings {
  return {
    logLevel,
    cors: cors.origins.includes('*') ? '*' : cors.origins,
    tls,
    hosts: new Map([...networks, ...rollups].map(({ name, hosts }) => [name, hosts])),
  }
}
