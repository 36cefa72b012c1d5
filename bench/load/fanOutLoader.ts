/**
 * Many WebSockets that have subscribed to new heads, in a process of its own. Started by `fanOut.ts` with a URL, a
 * number of sockets and a number of heads. Sends `{}` once all have subscribed, or `{refused}`, then a
 * {@link FanOutResult}, and ends.
 */
import { performance } from 'node:perf_hooks'
import { WebSocket } from 'ws'
import { endProcess } from '../../src/primitives/endProcess.js'

export interface FanOutResult {
  /** For each message, ms since the first socket received the same head. */
  readonly arrivals: readonly number[]
  /** Number of messages that did not arrive. */
  readonly missed: number
  readonly seconds: number
  /** CPU time of this process per message, which delays the messages after it. */
  readonly cpuMicros: number
}

const [url = '', sockets = '1', heads = '1'] = process.argv.slice(2)
const socketCount = Number(sockets)
const headCount = Number(heads)
/** Handshakes under way at the same time, fewer than a listen queue holds. */
const opening = 100
/** Time for all messages after the first message of the last head. */
const graceMs = 10_000
const openMsMax = 10_000

/** Marks a head's hash in a notification; the parent's has another name. */
const hashMark = Buffer.from('"hash":"')
const hashLength = 66

/** Head → time at which the first socket received it. */
const seen = new Map<string, number>()
const arrivals: number[] = []
let isCounting = false
let startedAtMs = 0
let cpuAtStart = process.cpuUsage()
let grace: NodeJS.Timeout | undefined

function takeHead(hash: string): void {
  if (!isCounting) return
  const now = performance.now()
  let firstAtMs = seen.get(hash)
  if (firstAtMs === undefined) {
    if (seen.size === headCount) return
    if (seen.size === 0) {
      startedAtMs = now
      cpuAtStart = process.cpuUsage()
    }
    firstAtMs = now
    seen.set(hash, now)
    if (seen.size === headCount) grace = setTimeout(finish, graceMs)
  }
  arrivals.push(now - firstAtMs)
  if (arrivals.length === headCount * socketCount) finish()
}

function finish(): void {
  isCounting = false
  clearTimeout(grace)
  const { user, system } = process.cpuUsage(cpuAtStart)
  const result: FanOutResult = {
    arrivals,
    missed: headCount * socketCount - arrivals.length,
    seconds: (performance.now() - startedAtMs) / 1000,
    cpuMicros: (user + system) / arrivals.length,
  }
  process.send?.(result, () => endProcess(0))
}

function openSocket(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { perMessageDeflate: false, handshakeTimeout: openMsMax })
    socket.on('open', () =>
      socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}'),
    )
    socket.on('error', reject)
    socket.on('message', (data: Buffer) => {
      const at = data.indexOf(hashMark)
      if (at !== -1) {
        takeHead(data.toString('latin1', at + hashMark.length, at + hashMark.length + hashLength))
        return
      }
      const text = data.toString()
      if (/"result":"0x/.test(text)) resolve()
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
  process.send?.({ refused: (error as Error).message }, () => endProcess(0))
}
