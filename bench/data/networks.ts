/** The networks of a run by what they consist of, and making those that are missing on all cores at once. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { cores, endWithThisProcess } from '../servers/serverProcess.js'
import {
  type BenchNetwork,
  demoNetwork,
  isKept,
  keptNames,
  syntheticBlocks,
  syntheticLogs,
  syntheticNetwork,
} from './benchData.js'
import type { ImportChainKind } from './importChainSizes.js'
import type { StateSize } from './syntheticState.js'

export type NetworkPlan =
  | { readonly kind: 'demo' }
  | ({ readonly kind: 'state' } & StateSize)
  | { readonly kind: 'blocks' | 'logs'; readonly count: number }
  | { readonly kind: 'import'; readonly chain: ImportChainKind; readonly blocks: number }

/** Found in the cache, or made. */
export async function findNetwork(name: string, plan: NetworkPlan): Promise<BenchNetwork> {
  switch (plan.kind) {
    case 'demo':
      return demoNetwork()
    case 'state':
      return syntheticNetwork(name, plan)
    case 'blocks':
      return syntheticBlocks(name, plan.count)
    case 'logs':
      return syntheticLogs(name, plan.count)
    case 'import':
      return (await import('./importChains.js')).importChain(plan.chain, plan.blocks)
  }
}

async function isMade(plan: NetworkPlan): Promise<boolean> {
  if (plan.kind === 'demo') return isKept(keptNames.demo())
  if (plan.kind === 'state') return isKept(keptNames.state(plan))
  if (plan.kind !== 'import') return isKept(keptNames[plan.kind](plan.count))
  return isKept((await import('./importChains.js')).importedName(plan.chain, plan.blocks))
}

/** CPU time to make one, on a quiet core of 2026, in seconds. */
export function secondsToMake(plan: NetworkPlan): number {
  switch (plan.kind) {
    case 'demo':
      return 5
    case 'state':
      return plan.accounts / 10_000 + plan.slots / 65_000
    case 'blocks':
      return plan.count / 800
    case 'logs':
      return plan.count / 3_300
    case 'import':
      return plan.blocks / 7
  }
}

/**
 * Makes the networks that are missing, each in a process of its own, as many at once as there are cores; the one that
 * takes longest first.
 */
export async function makeMissing(plans: readonly NetworkPlan[]): Promise<void> {
  const missing: NetworkPlan[] = []
  for (const plan of plans) if (!(await isMade(plan))) missing.push(plan)
  if (missing.length === 0) return
  const seconds = missing.reduce((sum, plan) => sum + secondsToMake(plan), 0)
  const minutes = Math.ceil(seconds / Math.min(cores, missing.length) / 60)
  console.error(`${missing.length} networks are made, once, in about ${minutes} min`)
  const queue = missing.sort((a, b) => secondsToMake(b) - secondsToMake(a))
  const lane = async () => {
    for (let plan = queue.shift(); plan !== undefined; plan = queue.shift()) await makeApart(plan)
  }
  await Promise.all(Array.from({ length: Math.min(cores, missing.length) }, lane))
}

async function makeApart(plan: NetworkPlan): Promise<void> {
  const program = fileURLToPath(new URL('./makeNetwork.js', import.meta.url))
  const words = [program, JSON.stringify(plan)]
  const child = endWithThisProcess(spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'inherit'] }))
  const [code, signal] = await once(child, 'exit')
  if (code !== 0) throw new Error(`making a network ended with ${code ?? signal}: ${JSON.stringify(plan)}`)
}
