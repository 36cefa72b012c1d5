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
