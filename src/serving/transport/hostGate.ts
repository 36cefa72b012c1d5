import { isIP } from 'node:net'

/**
 * Decides by the Host header which requests are answered. A web page can make its own host name resolve to this
 * server's address (DNS rebinding). The browser then takes the server for the page's own and lets the page read its
 * answers. But the Host header still has the page's name. Addresses and `localhost` cannot be a page's own name, so
 * they always pass. Requests without the header also pass: no browser sends them.
 */
export class HostGate {
  readonly #names: ReadonlySet<string>
  /** The header of the last request: most requests have the same. */
  #last = ''
  #isLastAllowed = true

  /** `names` in lower case. */
  constructor(names: Iterable<string>) {
    this.#names = new Set(names)
  }

  allows(header: string): boolean {
    if (header === this.#last) return this.#isLastAllowed
    const name = hostName(header)
    const isLocal = name === 'localhost' || name.endsWith('.localhost')
    this.#last = header
    this.#isLastAllowed =
      header === '' || isLocal || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 || this.#names.has(name)
    return this.#isLastAllowed
  }
}

/** A Host header without its port, in lower case. */
export function hostName(header: string): string {
  const portless = header.endsWith(']') ? header : header.replace(/:[0-9]*$/, '')
  return portless.toLowerCase()
}
