/**
 * Many WebSockets that have subscribed to new heads, in a process of its own. Started by `fanOut.ts` with a URL, a
 * number of sockets and a number of heads. Sends `{}` once all have subscribed, or `{refused}`, then a
 * {@link FanOutResult}, and ends.
 */
import { performance } from 'node:perf_hooks'
import { WebSocket } from 'ws'

export interface FanOutResult {
  /** Of each message, ms since the first socket had the same head. */
  readonly arrivals: readonly number[]
  /** Messages of those heads that did not come. */
  readonly missed: number
  readonly seconds: number
}

const [url = '', sockets = '1', heads = '1'] = process.argv.slice(2)
const socketCount = Number(sockets)
const headCount = Number(heads)
/** Handshakes under way at a time, below what a listen queue holds. */
const opening = 100
/** After the last head's first message, how long the others may take. */
const graceMs = 1_000
const openMsMax = 10_000

interface Head {
  readonly firstAtMs: number
  count: number
}

const seen = new Map<string, Head>()
const arrivals: number[] = []
let isCounting = false
let startedAtMs = 0

function takeHead(hash: string): void {
  if (!isCounting) return
  const now = performance.now()
  let head = seen.get(hash)
  if (head === undefined) {
    if (seen.size === headCount) return
    if (seen.size === 0) startedAtMs = now
    head = { firstAtMs: now, count: 0 }
    seen.set(hash, head)
    if (seen.size === headCount) setTimeout(finish, graceMs)
  }
  head.count++
  arrivals.push(now - head.firstAtMs)
}

function finish(): void {
  const expected = headCount * socketCount
  const seconds = (performance.now() - startedAtMs) / 1000
  const result: FanOutResult = { arrivals, missed: expected - arrivals.length, seconds }
  process.send?.(result, () => process.exit(0))
}

function openSocket(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { perMessageDeflate: false, handshakeTimeout: openMsMax })
    socket.on('open', () =>
      socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}'),
    )
    socket.on('error', reject)
    socket.on('message', (data: Buffer) => {
      const text = data.toString('latin1')
      const hash = /"method":"eth_subscription".*?"hash":"(0x[0-9a-f]{64})"/.exec(text)?.[1]
      if (hash !== undefined) takeHead(hash)
      else if (/"result":"0x/.test(text)) resolve()
      else reject(new Error(text.slice(0, 200)))
    })
  })
}

try {
  for (let done = 0; done < socketCount; done += opening) {
    await Promise.all(Array.from({ length: Math.min(opening, socketCount - done) }, openSocket))
  }
  isCounting = true
  process.send?.({})
} catch (error) {
  process.send?.({ refused: (error as Error).message }, () => process.exit(0))
}
