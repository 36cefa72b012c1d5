/**
 * New heads pushed to many WebSockets. A replay source makes a block every half second; every socket has subscribed to
 * them. Delivery counts from the first socket that has a head to each socket that gets it, since the moment of its
 * making is not seen from outside. CPU per message is what the server took beyond the same replay with one socket.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { devnetFolder } from './benchData.js'
import type { FanOutResult } from './fanOutLoader.js'
import type { Side } from './outcome.js'
import type { ServerProcess } from './serverProcess.js'
import { NotOfferedError, type RunContext, type SpecialScenario } from './specialScenario.js'
import { latenciesOf } from './statistics.js'
import { startTidegate } from './tidegateServer.js'

const intervalMs = 500
/** Where the replay begins: far enough from the head for the longest run to see new blocks all the time. */
const replayFrom = 60
/** Heads that are waited for, in a short run and in a whole one. */
const headsQuick = 10
const headsWhole = 40

export function newHeads(sockets: number): SpecialScenario {
  return {
    name: `new-heads-${sockets}`,
    title: `new heads to ${sockets.toLocaleString('en')} sockets`,
    async run(context) {
      const heads = context.isQuick ? headsQuick : headsWhole
      const alone = await fanOut(context, 1, heads)
      const { server, result, side } = await fanOut(context, sockets, heads)
      const messages = result.arrivals.length
      const cpu =
        side.cpuSeconds === undefined || alone.side.cpuSeconds === undefined
          ? undefined
          : Math.max(0, side.cpuSeconds - alone.side.cpuSeconds)
      const own: Side = {
        rate: messages / result.seconds,
        rateSpread: 0,
        cpuMicros: cpu === undefined ? undefined : (cpu * 1e6) / messages,
        residentBytes: server,
        latencies: latenciesOf(result.arrivals),
      }
      return { unit: 'messages', own, rivals: {}, ratios: {}, note: `${result.missed} messages missed` }
    },
  }
}

interface FanOut {
  /** Resident bytes at the end. */
  readonly server: number | undefined
  readonly result: FanOutResult
  readonly side: { readonly cpuSeconds: number | undefined }
}

async function fanOut(context: RunContext, sockets: number, heads: number): Promise<FanOut> {
  const server = await startReplay(context)
  try {
    const program = fileURLToPath(new URL('./fanOutLoader.js', import.meta.url))
    const url = new URL('/live/ws', server.said)
    url.protocol = 'ws:'
    const loader = fork(program, [url.href, String(sockets), String(heads)])
    const [first] = (await once(loader, 'message')) as [{ refused?: string }]
    if (first.refused !== undefined) {
      throw new NotOfferedError(`no WebSocket with newHeads at ${url.pathname}: ${first.refused}`)
    }
    const before = server.cpuSeconds()
    const [result] = (await once(loader, 'message')) as [FanOutResult]
    const after = server.cpuSeconds()
    const cpuSeconds = before === undefined || after === undefined ? undefined : after - before
    return { server: server.residentBytes(), result, side: { cpuSeconds } }
  } finally {
    await server.stop()
  }
}

/** A server that plays the demo chain on a copy of its store. */
async function startReplay({ folder, network }: RunContext): Promise<ServerProcess> {
  const demo = await network('demo')
  const copy = join(folder, 'live')
  mkdirSync(copy, { recursive: true })
  copyFileSync(join(demo.folder, 'chain.mdb'), join(copy, 'chain.mdb'))
  const source = { type: 'replay', file: join(devnetFolder, 'chain.rlp'), from: replayFrom, intervalMs }
  try {
    return await startTidegate(folder, [
      { name: 'live', folder: copy, genesisPath: demo.genesisPath, source },
    ])
  } catch (error) {
    // The configuration refuses a type of source that it does not know.
    if (!/source\.type/.test((error as Error).message)) throw error
    throw new NotOfferedError('this server has no replay source')
  }
}
