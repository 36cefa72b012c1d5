/** `http://HOST:PORT`, or with https. An IPv6 address may come with or without brackets; the result has them. */
export function httpOrigin(host: string, port: number, isSecure = false): string {
  return `${isSecure ? 'https' : 'http'}://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`
}
