import type { ServerSettings } from '../../serving/transport/httpRoutes.js'
import type { Config, LogLevel } from '../config/config.js'

/** The settings of an edge that a reload of the configuration changes; crosses threads. */
export interface EdgeSettings extends ServerSettings {
  readonly logLevel: LogLevel
}

export function settingsOf(config: Config): EdgeSettings {
  const { logLevel, logSample, trustedProxies, cors, tls, networks, rollups } = config
  return {
    logLevel,
    cors: cors.origins.includes('*') ? '*' : cors.origins,
    allowedHosts: allowedHostsOf(config),
    trustedProxies,
    requestLog: { sample: logSample, isAll: logLevel === 'debug' || logLevel === 'trace' },
    tls,
    hosts: new Map([...networks, ...rollups].map(({ name, hosts }) => [name, hosts])),
  }
}

/** If keys are needed, pages can do nothing without one: all host names are answered unless some are listed. */
function allowedHostsOf({ allowedHosts, auth, host, networks, rollups }: Config): string[] | undefined {
  const listed = allowedHosts ?? (auth ? ['*'] : [])
  if (listed.includes('*')) return undefined
  const ofNetworks = [...networks, ...rollups].flatMap(({ hosts }) => hosts)
  return [...listed, ...ofNetworks, host].map((name) => name.toLowerCase())
}
