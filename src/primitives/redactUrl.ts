/** Scheme and host, after a user name and password, and the rest. */
const shape =
  /^([a-z][a-z0-9+.-]*:\/\/)(?:[^/?#@]*@)?([a-z0-9.-]+(?::\d+)?|\[[0-9a-f:]+\](?::\d+)?)([/?#].*)?$/is

/**
 * What may be shown of a text that was meant as the URL of a node: scheme and host, because a user name, a password,
 * the path and the query may each be a key. `…` stands for what is left out, and for all of a text of another shape.
 */
export function redactUrl(text: string): string {
  const [, scheme, host, rest = ''] = shape.exec(text) ?? []
  if (scheme === undefined || host === undefined || rest.includes('@')) return '…'
  return `${scheme}${host}${rest === '' || rest === '/' ? rest : '/…'}`
}
