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

/** Of the schemes that a configuration has; up to what ends a URL within words, or within JSON. */
const urlAnywhere = /\b(?:https?|wss?|postgres(?:ql)?):\/\/[^\s"\\<>]+/gi
/** What follows a URL in a sentence, or encloses it. */
const punctuationAtEnd = /[.,;:!?')]*$/

/** `text` with each URL in it as {@link redactUrl} has it. */
export function redactUrls(text: string): string {
  if (!text.includes('://')) return text
  return text.replace(urlAnywhere, (found) => {
    const end = found.search(punctuationAtEnd)
    return redactUrl(found.slice(0, end)) + found.slice(end)
  })
}
