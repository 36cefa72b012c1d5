/** A network that crosses to Amsterdam while its head moves: the first blocks of a1-cross, and competing ones. */
import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { parseBlock } from '../../src/sources/ingest/blocks/block.js'
import { readChainFile } from '../../src/sources/ingest/blocks/chainFile.js'
import type { Place, Subjects } from '../feed/replicaAnswers.js'
import type { Service } from '../service/service.js'
import { amsterdamFile } from './amsterdam.js'
import { lastOf, makeCompetingReplay } from './competingReplay.js'
import type { PlayedBlock, PlayOptions, ReplayedChain } from './replayedChain.js'

/** The first block of a1-cross under Amsterdam. */
export const forkBlock = 40

/** Makes the chain and all files for the program to play it, in a folder of its own. */
export async function makeAmsterdamReplay(
  t: Test,
  options: PlayOptions,
): Promise<ReplayedChain<PlayedBlock>> {
  const genesisText = readFileSync(amsterdamFile('a1-cross', 'genesis.json'), 'utf8')
  return makeCompetingReplay(t, genesisText, await readOriginals(lastOf(options)), options)
}

/** Subjects of questions about a block: places touched by it, also by its access list, and a call that writes. */
export async function subjectsAt(node: Service, block: AskedBlock): Promise<Subjects> {
  const lists = block.blockAccessListHash === undefined ? [] : await changedIn(node, block.hash)
  const touched = block.transactions.slice(0, 2).flatMap(({ from, to }) => [from, to ?? []].flat())
  const places = [
    ...[block.miner, slotWriter, ...touched].map((address) => ({ address, slot: '0x0' })),
    ...lists,
  ]
  return {
    places,
    // The call writes three slots, so that it pays for state.
    call: { from: block.miner, to: slotWriter, data: `0x${'3'.padStart(64, '0')}` },
  }
}

/** Members of a block's JSON that {@link subjectsAt} needs. */
export interface AskedBlock {
  readonly hash: string
  readonly miner: string
  readonly blockAccessListHash?: string
  readonly transactions: readonly { readonly from: string; readonly to: string | null }[]
}

/** A contract of the genesis that writes as many slots as its input requests. */
const slotWriter = '0xb0b0000000000000000000000000000000000002'

/** Some accounts with a slot that a block writes; none for a non-canonical block, whose list is not served. */
async function changedIn(node: Service, hash: string): Promise<Place[]> {
  const { result } = await node.call('eth_getBlockAccessList', [hash])
  const accounts: readonly ListedAccount[] = result ?? []
  const written = accounts.filter(({ storageChanges }) => storageChanges.length > 0)
  return written
    .slice(-3)
    .map(({ address, storageChanges }) => ({ address, slot: storageChanges[0]?.key ?? '0x0' }))
}

interface ListedAccount {
  readonly address: string
  readonly storageChanges: readonly { readonly key: string }[]
}

async function readOriginals(count: number): Promise<PlayedBlock[]> {
  const blocks: PlayedBlock[] = []
  for await (const { rlp } of readChainFile(amsterdamFile('a1-cross', 'chain.rlp.gz'))) {
    if (blocks.length === count) break
    const { hash, header } = parseBlock(rlp)
    blocks.push({ rlp: Uint8Array.from(rlp), hash, number: header.number })
  }
  return blocks
}
