/** Recorded chains of the OP Stack as servers and replays. */
import { join } from 'node:path'
import type { Test } from 'tap'
import { hexToBytes } from '../../src/primitives/bytes.js'
import type { Subjects } from '../feed/replicaAnswers.js'
import { makeFolder } from '../library/folder.js'
import { runProgram } from '../service/program.js'
import { type Service, startService } from '../service/service.js'
import type { AskedBlock } from './amsterdamReplay.js'
import { lastOf, makeCompetingReplay } from './competingReplay.js'
import { optimismBlocks, optimismFolder, optimismGenesis } from './optimismChain.js'
import type { PlayedBlock, PlayOptions, ReplayedChain } from './replayedChain.js'

/** Serves a chain as network `optimism`, imported. */
export async function serveOptimism(t: Test, name = 'a', folder = makeFolder(t)): Promise<Service> {
  const network = ['--network', 'optimism', '--data', folder]
  const file = (part: string) => join(optimismFolder, name, part)
  const words = ['import', ...network, '--genesis', file('genesis.json'), file('chain.rlp.gz')]
  const { status, err } = await runProgram(words)
  if (status !== 0) throw new Error(err)
  return startService([...network, '--no-auth'])
}

/** Plays the chain `a`, with competing blocks. */
export function makeOptimismReplay(t: Test, options: PlayOptions): Promise<ReplayedChain<PlayedBlock>> {
  const blocks = optimismBlocks('a').slice(1, lastOf(options) + 1)
  const originals = blocks.map(({ number, rlp, block }) => {
    return { number, rlp: hexToBytes(rlp), hash: hexToBytes(block.hash) }
  })
  return makeCompetingReplay(t, optimismGenesis('a'), originals, options)
}

/** Subjects of questions about a block: the attributes of L1, withdrawals, and accounts that the block touches. */
export function optimismSubjects(_node: Service, { miner, transactions }: AskedBlock): Subjects {
  const attributes = '0x4200000000000000000000000000000000000015'
  const passer = `0x42${'0'.repeat(36)}16`
  const touched = transactions.slice(0, 2).flatMap(({ from, to }) => [from, to ?? []].flat())
  return {
    places: [attributes, passer, miner, ...touched].map((address) => ({ address, slot: '0x3' })),
    // Reads the hash of the L1 block.
    call: { from: miner, to: attributes, data: '0x09bd5a60' },
  }
}
