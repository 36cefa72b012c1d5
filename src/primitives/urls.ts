/** URLs and hosts: the parts that may be shown, their credentials, and whether only this machine can connect. */
import { isIPv4 } from 'node:net'

/** Scheme and host, after a user name and password, and the rest. */
const shape =
  /^([a-z][a-z0-9+.-]*:\/\/)(?:[^/?#@]*@)?([a-z0-9.-]+(?::\d+)?|\[[0-9a-f:]+\](?::\d+)?)([/?#].*)?$/is

/**
 * The part of a node's URL that may be shown: scheme and host. User name, password, path and query may each be a key.
 * `…` stands for omitted parts, and for the whole of a text of another shape.
 */
export function redactUrl(text: string): string {
  const [, scheme, host, rest = ''] = shape.exec(text) ?? []
  if (scheme === undefined || host === undefined || rest.includes('@')) return '…'
  return `${scheme}${host}${rest === '' || rest === '/' ? rest : '/…'}`
}

/** Matches URLs of the schemes in a configuration, up to a character that ends a URL within a sentence or JSON. */
const urlAnywhere = /\b(?:https?|wss?|postgres(?:ql)?):\/\/[^\s"\\<>]+/gi
/** Punctuation after a URL in a sentence, or around it. */
const punctuationAtEnd = /[.,;:!?')]*$/

/** `text` with each URL in it redacted by {@link redactUrl}. */
export function redactUrls(text: string): string {
  if (!text.includes('://')) return text
  return text.replace(urlAnywhere, (found) => {
    const end = found.search(punctuationAtEnd)
    return redactUrl(found.slice(0, end)) + found.slice(end)
  })
}

/** `http://HOST:PORT`, or with https. An IPv6 address may come with or without brackets; the result has them. */
export function httpOrigin(host: string, port: number, isSecure = false): string {
  return `${isSecure ? 'https' : 'http'}://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`
}

/** The `Authorization` header for the user and password in a URL; Node.js does not send them otherwise. */
export function authorization({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {}
  const plain = `${decoded(username)}:${decoded(password)}`
  return { authorization: `Basic ${Buffer.from(plain).toString('base64')}` }
}

/** `url` without its user and password, which `fetch` and `ws` refuse or repeat in their errors. */
export function withoutCredentials(url: URL): URL {
  const address = new URL(url)
  address.username = ''
  address.password = ''
  return address
}

/** Decodes percent escapes; a text with an invalid one is returned unchanged. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * Why a network request failed, for the log and for callers: its code, or else its message. All errors of libraries
 * that got a URL must pass here, because some, such as `fetch`, repeat it with its password.
 */
export function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const { code, message } = Object(cause) as Partial<NodeJS.ErrnoException>
  return code ?? redactUrls(message ?? 'unknown error')
}

/** Whether only this machine can connect to a listener on `host`. */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return host.startsWith('127.')
  return host === '::1' || host === '[::1]' || host.toLowerCase() === 'localhost'
}
