/** A consensus client's connection to one of the two programs. */
import { tokenOf } from '../library/engineToken.js'
import type { Answer } from './endpoint.js'

export interface EngineClient {
  call(method: string, params: readonly unknown[]): Promise<Answer>
}

/** `name` is for errors. */
export function engineClientOf(name: string, url: string, secret: Uint8Array): EngineClient {
  return {
    async call(method, params) {
      const token = tokenOf(secret, { iat: Math.floor(Date.now() / 1_000) })
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      })
      const text = await response.text()
      if (response.status !== 200)
        throw new Error(`${name} answers ${method} with ${response.status}: ${text}`)
      const { result, error } = JSON.parse(text) as Answer
      return error === undefined ? { result } : { error }
    },
  }
}
