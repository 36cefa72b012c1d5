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
