/**
 * Requests to the admin listener.
 *
 * The token is stored in the session storage of this tab and sent as a header. A cookie would be sent to every other
 * port of the host as well. So another user's server on this machine could read it, and a page there could act with it.
 */
import type { RpcAnswer } from '../shapes.js'

const storageName = 'tidegate admin token'

export function storedToken(): string | undefined {
  return sessionStorage.getItem(storageName) ?? undefined
}

export function storeToken(token: string | undefined): void {
  if (token === undefined) sessionStorage.removeItem(storageName)
  else sessionStorage.setItem(storageName, token)
}

/** An answer other than 2xx; `message` is the listener's text. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message)
  }
}

/** Why a request failed, as a sentence. */
export function whyRefused(error: unknown): string {
  return error instanceof Refusal ? error.message : 'The server does not answer.'
}

/**
 * The answer to a request, unparsed. Throws Refusal if it is not 2xx, TypeError if there is no connection to the
 * listener.
 */
export async function request(
  path: string,
  { method = 'GET', body, signal }: { method?: string; body?: string; signal?: AbortSignal } = {},
): Promise<Response> {
  const response = await fetch(path, {
    method,
    headers: {
      authorization: `Bearer ${storedToken() ?? ''}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    cache: 'no-store',
    ...(body !== undefined && { body }),
    ...(signal !== undefined && { signal }),
  })
  if (response.ok) return response
  const text = await response.text()
  throw new Refusal(response.status, messageOf(text) ?? `HTTP ${response.status}`)
}

/** Like {@link request}, but returns the answer parsed as JSON. `body` is sent as JSON. */
export async function ask<T>(path: string, method = 'GET', body?: unknown): Promise<T> {
  const response = await request(path, { method, ...(body !== undefined && { body: JSON.stringify(body) }) })
  return (await response.json()) as T
}

/** Calls a method of a network like a client. */
export function callNetwork(
  network: string,
  call: { readonly method: string; readonly params: unknown },
): Promise<RpcAnswer> {
  return ask(`api/networks/${network}/call`, 'POST', call)
}

function messageOf(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: string | { message?: string } }
    return typeof error === 'string' ? error : error?.message
  } catch {
    return undefined
  }
}

/** Time between two attempts to connect to a listener that does not answer. */
const retryMs = 1_000

/**
 * Calls `onData` with the data of each server-sent event, and `onState` when the stream begins and breaks off.
 * Reconnects after a break. Ends with `signal`. Rejects with Refusal.
 *
 * An EventSource would do the same, but sends no token.
 */
export async function follow(
  path: string,
  onData: (data: string) => void,
  onState: (isOpen: boolean) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const { body } = await request(path, { signal })
      onState(true)
      for await (const data of readEvents(body as ReadableStream<Uint8Array>)) onData(data)
    } catch (error) {
      if (error instanceof Refusal) throw error
    }
    if (signal.aborted) return
    onState(false)
    await new Promise((resolve) => setTimeout(resolve, retryMs))
  }
}

async function* readEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  const reader = stream.getReader()
  let text = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    text += decoder.decode(value, { stream: true })
    const events = text.split('\n\n')
    text = events.pop() ?? ''
    for (const event of events) {
      const data = event.split('\n').flatMap((line) => /^data: ?(.*)$/.exec(line)?.[1] ?? [])
      if (data.length > 0) yield data.join('\n')
    }
  }
}
