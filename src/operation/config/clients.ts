/** Members of the configuration file that decide which clients are answered, and which proxies may name them. */
import { isIP } from 'node:net'
import { list, object, text } from './schema.js'

const hostPattern = /^(?!-)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*$/i
const hostExpected = 'a host name without scheme and port'

/** Names that a Host header may have. */
export const hostNames = () =>
  list(
    text(hostExpected)
      .regex(hostPattern, { error: `expected ${hostExpected}` })
      .toLowerCase(),
  )

const allowedHostExpected = `${hostExpected}, or "*"`

/** An origin as browsers send it: without a path, so one with a slash at its end would never match. */
const originPattern = /^(\*|null|localhost|[a-z][a-z0-9+.-]*:\/\/[^/\s]+)$/i
export const originExpected = 'an origin such as "https://example.org", "localhost", or "*"'

export function isPageOrigin(value: string): boolean {
  return originPattern.test(value)
}

const addressExpected = 'an IP address, or a network such as "10.0.0.0/8"'

function isAddressOrNetwork(value: string): boolean {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(value) ?? []
  const version = isIP(address)
  return version !== 0 && !address.includes('%') && Number(bits ?? 0) <= (version === 4 ? 32 : 128)
}

export const clientsShape = {
  /**
   * Origins whose web pages may call; "localhost" for those of this machine, "*" for all. Default with keys: all,
   * because a page of another origin has no key and no cookie is read. Default without keys: those of this machine if
   * all networks are developer chains, otherwise none.
   */
  cors: object({
    origins: list(
      text(originExpected)
        .regex(originPattern, { error: `expected ${originExpected}` })
        .toLowerCase(),
    ).optional(),
  }).prefault({}),
  /** Host names that are answered besides addresses, `localhost` and those of networks; if absent, see `Config`. */
  allowedHosts: list(
    text(allowedHostExpected)
      .refine((name) => name === '*' || hostPattern.test(name), { error: `expected ${allowedHostExpected}` })
      .toLowerCase(),
  ).optional(),
  /** Proxies whose X-Forwarded-For is trusted. */
  trustedProxies: list(
    text(addressExpected).refine(isAddressOrNetwork, { error: `expected ${addressExpected}` }),
  ).default([]),
}
