import { type Agent, request } from 'node:http'

/**
 * Posts a body; resolves to the status and the start of the answer, about `bytesMax` bytes. Rejects if the connection
 * fails, or no answer comes within `msMax`.
 */
export function exchange(
  url: string | URL,
  agent: Agent,
  body: string | Uint8Array,
  bytesMax: number,
  msMax?: number,
): Promise<{ readonly status: number | undefined; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const asked = request(url, { agent, method: 'POST', headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => {
        if (text.length < bytesMax) text += piece.slice(0, bytesMax)
      })
      response.on('end', () => resolve({ status: response.statusCode, text }))
      response.on('error', reject)
    })
    asked.on('error', reject)
    const timer = msMax && setTimeout(() => asked.destroy(new Error('no answer')), msMax)
    if (timer !== undefined) asked.on('close', () => clearTimeout(timer))
    asked.end(body)
  })
}
