/**
 * New heads sent to many subscribed WebSockets, one block every half second from a replay source. The delay of a
 * message is counted from the first socket that received the head, because the loader cannot see when the block was
 * made; it includes the loader's own work on earlier messages. CPU time is that of the server's main thread, which
 * sends; blocks are executed on another thread.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { devnetFolder } from '../data/benchData.js'
import type { FanOutResult } from '../load/fanOutLoader.js'
import type { Outcome, Side } from '../report/outcome.js'
import { latenciesOf } from '../report/statistics.js'
import { endWithThisProcess, type ServerProcess } from '../servers/serverProcess.js'
import { startTidegate } from '../servers/tidegateServer.js'
import type { RunContext, SpecialScenario } from './specialScenario.js'

const intervalMs = 500
/** First block of the replay: far enough from the last one for the longest run. */
const replayFrom = 60
/** Heads to wait for, in a quick run and in a whole one. */
const headsQuick = 10
const headsWhole = 40

export function newHeads(sockets: number): SpecialScenario {
  return {
    name: `new-heads-${sockets}`,
    title: `new heads to ${sockets.toLocaleString('en')} sockets`,
    run: (context) => fanOut(context, sockets),
  }
}

async function fanOut(context: RunContext, sockets: number): Promise<Omit<Outcome, 'name' | 'title'>> {
  const heads = context.isQuick ? headsQuick : headsWhole
  const server = await startReplay(context)
  try {
    const program = fileURLToPath(new URL('../load/fanOutLoader.js', import.meta.url))
    const url = new URL('/live/ws', server.said)
    url.protocol = 'ws:'
    const loader = endWithThisProcess(fork(program, [url.href, String(sockets), String(heads)]))
    const [first] = (await once(loader, 'message')) as [{ refused?: string }]
    if (first.refused !== undefined) {
      throw new Error(`no WebSocket with newHeads at ${url.pathname}: ${first.refused}`)
    }
    const before = server.mainThreadSeconds()
    const [{ arrivals, missed, seconds, cpuMicros }] = (await once(loader, 'message')) as [FanOutResult]
    const after = server.mainThreadSeconds()
    const isKnown = before !== undefined && after !== undefined
    const own: Side = {
      rate: arrivals.length / seconds,
      rateSpread: 0,
      cpuMicros: isKnown ? ((after - before) * 1e6) / arrivals.length : undefined,
      ...server.memory(),
      latencies: latenciesOf(arrivals),
    }
    const note = `${missed} missed; the loader itself takes ${cpuMicros.toFixed(1)} µs for each`
    return { unit: 'messages', own, rivals: {}, ratios: {}, note }
  } finally {
    await server.stop()
  }
}

/** A server that plays the demo chain on a copy of its store. */
async function startReplay({ folder, network, server }: RunContext): Promise<ServerProcess> {
  const demo = await network('demo')
  const copy = join(folder, 'live')
  mkdirSync(copy, { recursive: true })
  copyFileSync(join(demo.folder, 'chain.mdb'), join(copy, 'chain.mdb'))
  const source = { type: 'replay', file: join(devnetFolder, 'chain.rlp'), from: replayFrom, intervalMs }
  const live = { name: 'live', folder: copy, genesisPath: demo.genesisPath, source }
  return startTidegate(folder, [live], server)
}
