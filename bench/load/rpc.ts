/** Bodies of JSON-RPC calls, and sending one. */

export function rpc(method: string, params: readonly unknown[]): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

/** The body of a batch; ids count from 1. */
export function batch(calls: readonly (readonly [method: string, params: readonly unknown[]])[]): string {
  return JSON.stringify(calls.map(([method, params], at) => ({ jsonrpc: '2.0', id: at + 1, method, params })))
}

/** The answer to one body, as text. Throws for every status except 200. */
export async function askBody(url: string, body: string): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body }).catch((error: Error) => {
    // The cause has the reason; the error itself only says that it failed.
    throw new Error(`${url}: ${(error.cause as Error | undefined)?.message ?? error.message}`)
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 200)}`)
  return text
}

/** The result of one call. Throws for an error, and for null. */
export async function askResult(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const [result] = resultsOf(await askBody(url, rpc(method, params)))
  return result
}

/** Every result in an answer to a call or a batch. Throws if one is null, missing or an error. */
export function resultsOf(answer: string): unknown[] {
  const parsed = JSON.parse(answer) as unknown
  return (Array.isArray(parsed) ? parsed : [parsed]).map((one: { result?: unknown; error?: unknown }) => {
    if (one.result === undefined || one.result === null) {
      throw new Error(`no result: ${JSON.stringify(one.error ?? one).slice(0, 200)}`)
    }
    return one.result
  })
}
