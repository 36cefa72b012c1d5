/** The two programs that are compared: which are started, on which chain, and when both have the same head. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startGeth } from '../../bench/servers/geth.js'
import { endWithThisProcess } from '../../bench/servers/serverProcess.js'
import { waitFor } from '../library/until.js'
import { runProgram, storePathOf, writeConfig } from '../service/program.js'
import { startService } from '../service/service.js'
import { type Endpoint, endpointOf } from './endpoint.js'
import { inventChain } from './inventedChain.js'
import type { Options } from './options.js'

const network = 'beside'

export interface Pair {
  readonly geth: Endpoint
  readonly ours: Endpoint
  stop(): Promise<void>
}

/** Rejects with the output of a program that does not start. `say` gets lines about the progress. */
export async function openPair(options: Options, say: (line: string) => void): Promise<Pair> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-beside-'))
  const stops: (() => Promise<unknown>)[] = []
  // The folder is removed even if a signal ends this process.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const stop = async () => {
    for (const each of stops.reverse()) await each()
  }
  try {
    const geth = options.url ?? (await startGethOn(options, folder, stops, say))
    const ours = options.ours ?? (await startOurs(options, folder, geth, stops, say))
    const pair = { geth: endpointOf('geth', geth), ours: endpointOf('ours', ours), stop }
    await awaitSameHead(pair)
    return pair
  } catch (error) {
    await stop()
    throw error
  }
}

/** Waits until both servers have geth's head, and returns its number. */
export function awaitSameHead({ geth, ours }: Pick<Pair, 'geth' | 'ours'>): Promise<number> {
  return waitFor('both to have the same head', async () => {
    const head = (await geth.result('eth_getBlockByNumber', ['latest', false])) as Head
    const own = (await ours.result('eth_getBlockByNumber', ['latest', false])) as Head
    return head !== null && own?.hash === head.hash && Number(head.number)
  })
}

type Head = { readonly hash: string; readonly number: string } | null

type Stops = (() => Promise<unknown>)[]

/** Starts geth with the chain that is named or invented, and returns its URL. */
async function startGethOn(
  options: Options,
  folder: string,
  stops: Stops,
  say: (line: string) => void,
): Promise<string> {
  const chain = options.chain ?? (await inventFiles(options.seed, folder, say))
  const geth = await startGeth(options.geth as string, chain, folder)
  stops.push(() => geth.stop())
  say(`geth has the chain of ${chain.genesis}, and serves it at ${geth.said}`)
  return geth.said
}

/** An invented chain as files for geth; its store stays, for the Tidegate beside it. */
async function inventFiles(seed: number, folder: string, say: (line: string) => void) {
  say(`a chain is invented by seed ${seed}`)
  const genesis = await inventChain(seed, folder, storePathOf(folder, network))
  const {
    status,
    out: said,
    err,
  } = await runProgram(['export', '--network', network, '--data', folder, '--out', folder])
  const blocks = /^(.+): blocks \d+ to \d+$/m.exec(said)?.[1]
  if (status !== 0 || blocks === undefined) throw new Error(`the invented chain is not exported: ${err}`)
  return { genesis, blocks }
}

async function startOurs(
  options: Options,
  folder: string,
  url: string,
  stops: Stops,
  say: (line: string) => void,
): Promise<string> {
  const genesis = options.chain?.genesis ?? options.genesis
  // An invented chain is in the store already.
  const isStored = options.geth !== undefined && options.chain === undefined
  const follow = ['--follow', url, ...(genesis === undefined ? [] : ['--genesis', genesis])]
  const config = ['--config', writeConfig(folder, {}), '--data', folder]
  const flags = [...config, '--network', network, '--no-auth', ...(isStored ? [] : follow)]
  const service = await startService(flags)
  endWithThisProcess(service.process)
  stops.push(() => service.stop())
  say(`Tidegate serves ${isStored ? 'it' : `the chain of ${url}`} at ${service.origin}`)
  return service.origin
}
