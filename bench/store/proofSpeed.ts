/**
 * What proofs of old blocks cost beside those of the head, in a store that storeSpeed made of *busy*:
 *
 *   node dist/bench/store/storeSpeed.js busy --accounts 50000 --slots 150000 --blocks 60 --folder DIR
 *   node dist/bench/store/proofSpeed.js --slots 150000 --blocks 60 --folder DIR [--rounds N] [--proofs N]
 *
 * A proof is of a contract and one of its slots, each time other ones: alone, and as on threads of the pool, which remember
 * the nodes near the root for the next proof of the same state. All ages are measured in turns with the same keys: the
 * median of the rounds, CPU time. A range that is read counts as one read; reads are of proofs alone.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { decodeHeader } from '../../src/chain/header.js'
import { type Hash32, toHash32 } from '../../src/primitives/bytes.js'
import { buildProofJson, UpperNodes } from '../../src/state/proof.js'
import { triesAfter } from '../../src/state/tries.js'
import { ChainReader } from '../../src/store/chainReader.js'
import type { ReadGuard } from '../../src/store/readTable.js'
import { contractAddress, contractOf, slotOf } from '../data/syntheticState.js'
import { median } from '../report/statistics.js'
import { randomFrom } from './randomChanges.js'

const { values } = parseArgs({
  options: {
    slots: { type: 'string', default: '150000' },
    blocks: { type: 'string', default: '60' },
    folder: { type: 'string' },
    rounds: { type: 'string', default: '15' },
    proofs: { type: 'string', default: '300' },
  },
})
const [slots, blocks, rounds, proofs] = [values.slots, values.blocks, values.rounds, values.proofs].map(
  Number,
) as [number, number, number, number]
if (values.folder === undefined) throw new Error('--folder has to name one that storeSpeed made')
const path = join(values.folder, 'chain.mdb')

interface Block {
  readonly number: number
  readonly hash: Hash32
  readonly stateRoot: Hash32
}

function blockAt(reader: ChainReader, number: number): Block {
  const hash = reader.readCanonicalHash(number)
  const header = hash && reader.readHeader(hash)
  if (hash === undefined || header === undefined) throw new Error(`block ${number} is missing`)
  return { number, hash, stateRoot: decodeHeader(header).stateRoot }
}

/** The last block that changed the state. */
function newestChange(reader: ChainReader): number {
  const head = reader.readHead()
  if (head === undefined) throw new Error('the store is empty')
  const { stateRoot } = blockAt(reader, head.number)
  let { number } = head
  while (Buffer.compare(blockAt(reader, number - 1).stateRoot, stateRoot) === 0) number--
  return number
}

/** Bytes of the answer. */
function prove(reader: ChainReader, block: Block, index: number, upper?: UpperNodes): number {
  const address = contractAddress(contractOf(index))
  const keys = [{ slot: toHash32(slotOf(index)), writtenBytes: 32 }]
  const { number, hash, stateRoot } = block
  const request = { number, block: hash, stateRoot, address, keys }
  return buildProofJson(triesAfter(reader, block), request, upper).length
}

let reads = 0
const countReads: ReadGuard = (read) => {
  const found = read()
  // The steps of a range belong to the read that opened it.
  if (!(found instanceof Object && 'done' in found)) reads++
  return found
}

const reader = ChainReader.open({ path })
const counting = ChainReader.open({ path, guard: countReads })
const newest = newestChange(reader)
const oldest = newest - blocks
const ages: readonly (readonly [name: string, numberOf: (random: number) => number])[] = [
  ['head', () => newest],
  ['block before', () => newest - 1],
  ['random block', (random) => newest - 1 - (random % blocks)],
  ['oldest block', () => oldest],
]
const held = new Map<number, Block>()
for (let number = oldest; number <= newest; number++) held.set(number, blockAt(reader, number))
const head = blockAt(reader, (reader.readHead() as { number: number }).number)
const blockOf = (number: number): Block => (number === newest ? head : (held.get(number) as Block))

const costs = ages.map(() => ({ alone: [] as number[], pooled: [] as number[], reads: 0, bytes: 0 }))
const upper = new UpperNodes()
for (let round = 0; round <= rounds; round++) {
  for (const [index, [, numberOf]] of ages.entries()) {
    const cost = costs[index] as (typeof costs)[number]
    const random = randomFrom(round + 1)
    const chosen = Array.from(
      { length: proofs },
      () => [random(slots), blockOf(numberOf(random(blocks)))] as const,
    )
    if (round === 0) {
      reads = 0
      for (const [slot, block] of chosen) cost.bytes += prove(counting, block, slot)
      cost.reads = reads
    }
    for (const [micros, remembered] of [[cost.alone], [cost.pooled, upper]] as const) {
      const begin = process.cpuUsage()
      for (const [slot, block] of chosen) prove(reader, block, slot, remembered)
      const { user, system } = process.cpuUsage(begin)
      if (round > 0) micros.push((user + system) / proofs)
    }
  }
}
await Promise.all([reader.close(), counting.close()])

console.log('| a proof at | alone, CPU µs | of the head | in the pool, µs | of the head | reads | bytes |')
console.log('| --- | --: | --: | --: | --: | --: | --: |')
const [first] = costs
for (const [index, [name]] of ages.entries()) {
  const cost = costs[index] as (typeof costs)[number]
  const cells = [name]
  for (const kind of ['alone', 'pooled'] as const) {
    const micros = median(cost[kind]) ?? Number.NaN
    cells.push(micros.toFixed(0), (micros / (median(first?.[kind] ?? []) ?? Number.NaN)).toFixed(2))
  }
  cells.push((cost.reads / proofs).toFixed(1), (cost.bytes / proofs).toFixed(0))
  console.log(`| ${cells.join(' | ')} |`)
}
