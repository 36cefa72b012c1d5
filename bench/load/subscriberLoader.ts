/**
 * Many WebSockets with a subscription each, in a process of its own. Gets a {@link SubscriberTask} on its command line and
 * sends the seconds until all have subscribed. Then it makes a block for each message from its parent, and sends a
 * {@link FannedOut}.
 */
import { performance } from 'node:perf_hooks'
import { WebSocket } from 'ws'
import { endProcess } from '../../src/primitives/endProcess.js'
import { signLogs, walletOf } from '../data/madeChain.js'
import { askResult } from './rpc.js'

export interface SubscriberTask {
  readonly url: string
  readonly socketUrl: string
  /** Sockets with a subscription to heads, and to all logs. */
  readonly heads: number
  readonly logs: number
  /** Sockets that subscribe to both and read nothing. */
  readonly slow: number
  /** Logs of each block. */
  readonly logsPerBlock: number
}

/** A block and its messages. */
export interface FannedOut {
  /** For each message, ms since the request that made the block. */
  readonly arrivals: readonly number[]
  readonly missed: number
}

const task = JSON.parse(process.argv[2] ?? '') as SubscriberTask
/** Handshakes at the same time, fewer than a listen queue can have. */
const opening = 100
/** Time for all messages of a block, with a machine that is busy. */
const blockMsMax = 30_000

const subscribed = Buffer.from('"result":"0x')
const event = Buffer.from('eth_subscription')
let arrivals: number[] = []
let sentAtMs = 0
let onArrival = () => {}

function open(kinds: readonly string[], isRead: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(task.socketUrl, { perMessageDeflate: false })
    let answers = 0
    const take = (data: Buffer) => {
      if (data.includes(event)) {
        arrivals.push(performance.now() - sentAtMs)
        return onArrival()
      }
      if (!data.includes(subscribed)) return reject(new Error(data.toString().slice(0, 200)))
      if (++answers < kinds.length) return
      if (!isRead) socket.pause()
      resolve()
    }
    socket.on('message', take)
    socket.on('error', reject)
    socket.on('close', () => isRead && fail(new Error('the server closed a WebSocket')))
    socket.on('open', () => {
      for (const [at, kind] of kinds.entries()) {
        const params = kind === 'logs' ? [kind, {}] : [kind]
        socket.send(JSON.stringify({ jsonrpc: '2.0', id: at + 1, method: 'eth_subscribe', params }))
      }
    })
  })
}

async function openAll(): Promise<void> {
  const { heads, logs, slow } = task
  const sockets = [
    ...Array.from({ length: heads }, () => () => open(['newHeads'], true)),
    ...Array.from({ length: logs }, () => () => open(['logs'], true)),
    ...Array.from({ length: slow }, () => () => open(['newHeads', 'logs'], false)),
  ]
  const lane = async () => {
    for (let next = sockets.shift(); next !== undefined; next = sockets.shift()) await next()
  }
  await Promise.all(Array.from({ length: opening }, lane))
}

const wallet = walletOf(0)

/** Makes a block, and waits for its messages. */
async function makeBlock(): Promise<FannedOut> {
  const { url, heads, logs, logsPerBlock } = task
  const nonce = Number(await askResult(url, 'eth_getTransactionCount', [wallet.address, 'latest']))
  const raw = await signLogs(wallet, nonce, logsPerBlock)
  const wanted = heads + logs * logsPerBlock
  arrivals = []
  const arrived = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, blockMsMax)
    onArrival = () => {
      if (arrivals.length < wanted) return
      clearTimeout(timer)
      resolve()
    }
  })
  sentAtMs = performance.now()
  await askResult(url, 'eth_sendRawTransaction', [raw])
  await arrived
  return { arrivals, missed: wanted - arrivals.length }
}

function fail(error: Error): void {
  process.send?.(error.message, () => endProcess(1))
}

// Ends with its parent, so that no load remains.
process.on('disconnect', () => endProcess(0))
process.on('message', () => {
  makeBlock().then((block) => process.send?.(block), fail)
})
const startedAtMs = performance.now()
openAll().then(() => process.send?.((performance.now() - startedAtMs) / 1_000), fail)
