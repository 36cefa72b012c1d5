import { HttpLine } from './httpLine.js'
import type { Line } from './line.js'
import { SocketLine } from './socketLine.js'

export interface LineOptions {
  /** `http:`, `https:`, `ws:` or `wss:`. May contain secrets, so it is never shown; the name of its node is. */
  readonly url: string
  /** Headers of every request, for instance with a key. Never shown. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** URL of a proxy, which may contain secrets; absent: as the environment says. */
  readonly proxy?: string | undefined
  /** Most bytes of one answer; of a batch, of all its answers together. */
  readonly answerBytesMax: number
}

/** JSON-RPC as the URL says. */
export function lineTo({ url, headers = {}, answerBytesMax, proxy }: LineOptions): Line {
  const options = { url: new URL(url), headers, answerBytesMax, proxy }
  return options.url.protocol.startsWith('http')
    ? new HttpLine(options)
    : new SocketLine({ ...options, onNotification: () => {}, onLost: () => {} })
}
