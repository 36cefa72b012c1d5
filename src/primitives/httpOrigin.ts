/** `http://HOST:PORT`, or with https; an IPv6 address, with brackets or without, gets them. */
export function httpOrigin(host: string, port: number, isSecure = false): string {
  return `${isSecure ? 'https' : 'http'}://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`
}
