/**
 * Requests over HTTP. `fetch` would take four times as long here, and twice as long in the server, which compresses its
 * answers to it.
 */
import { type Agent, type IncomingHttpHeaders, request } from 'node:http'
import { inTime } from '../library/until.js'

export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

interface Sent {
  readonly body?: string
  readonly headers: Readonly<Record<string, string>>
  readonly agent: Agent | false
  readonly isAgain?: boolean
}

/**
 * Posts a body, on a connection of its own or through an agent. Posts once more if the server had closed the kept
 * connection, which this process may have been too busy to notice.
 */
export function post(
  url: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
  agent: Agent | false = false,
): Promise<HttpAnswer> {
  const sent = { body, headers: { 'content-type': 'application/json', ...headers }, agent }
  return inTime(`the answer to ${body.slice(0, 200)}`, send(url, sent))
}

/** Gets a resource, on a connection of its own. */
export function get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> {
  return inTime(url, send(url, { headers, agent: false }))
}

function send(url: string, sent: Sent): Promise<HttpAnswer> {
  const { body, headers, agent } = sent
  const asked = request(url, { agent, method: body === undefined ? 'GET' : 'POST', headers })
  return new Promise<HttpAnswer>((resolve, reject) => {
    let isAnswered = false
    asked.on('error', (error) => {
      // A connection that an agent opened itself may have been idle, too (`EdgeAgent`), so the request is sent once
      // more.
      const mayBeStale = asked.reusedSocket || (agent !== false && sent.isAgain !== true)
      if (mayBeStale && !isAnswered) resolve(send(url, { ...sent, isAgain: true }))
      else reject(error)
    })
    asked.on('response', (response) => {
      isAnswered = true
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode = 0, headers } = response
        resolve({ status: statusCode, headers, text: Buffer.concat(chunks).toString() })
      })
    })
    asked.end(body)
  })
}
