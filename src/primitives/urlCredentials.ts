/** The `Authorization` header of the user and password in a URL, which Node.js sends by no other means. */
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

/** A percent sign that begins no escape stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
