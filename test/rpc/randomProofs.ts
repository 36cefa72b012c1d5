/**
 * Proofs of random accounts at every block of a chain, requested from the service and verified against its state roots.
 */
import { verifyMerkleProof } from '@ethereumjs/mpt'
import { keccak_256 } from '@noble/hashes/sha3.js'
import type { Test } from 'tap'
import type { ChainReader } from '../../src/data/store/chainReader.js'
import { Dice, propertyRuns, runsFactor } from '../library/property.js'
import type { Service } from '../service/service.js'
import { bytesOf, hex, type ProofAnswer, provenAccount, verifyAnswer } from './proofOracle.js'
import { askResults } from './questions.js'

/** The source of random accounts and slots: those that exist at the head, and others that hardly can. */
interface Population {
  readonly addresses: readonly string[]
  readonly slotsOf: ReadonlyMap<string, readonly string[]>
}

function readPopulation(store: ChainReader): Population {
  const slotsOf = new Map<string, string[]>()
  for (const [address] of store.accounts()) {
    const slots = Array.from(store.slotsOf(address), ([slot]) => hex(slot)).slice(0, 500)
    slotsOf.set(hex(address), slots)
  }
  return { addresses: [...slotsOf.keys()], slotsOf }
}

/** Proofs of a block; with `RUNS=0.1` a tenth. Other seeds give other proofs. */
export const proofsPerBlock = Math.ceil(100 * Math.min(runsFactor, 1))
const slotsPerProof = 3

/**
 * Requests {@link proofsPerBlock} proofs of {@link slotsPerProof} slots after each block, and the same slots by
 * `eth_getStorageAt`. The test's own code verifies each proof, and @ethereumjs/mpt verifies one in 20, too. Returns the
 * numbers of present accounts, absent accounts, and slots that are not zero.
 */
export async function checkRandomProofs(
  t: Test,
  service: Service,
  store: ChainReader,
  stateRoots: readonly string[],
): Promise<{ present: number; absent: number; nonZero: number }> {
  const population = readPopulation(store)
  const seen = { present: 0, absent: 0, nonZero: 0 }
  const dice = new Dice(propertyRuns(stateRoots.length).seed ?? 0)
  const bytes = (count: number) => hex(Uint8Array.from({ length: count }, () => dice.throw(256)))
  const oneOf = (list: readonly string[]) => list[dice.throw(list.length)] as string
  const chooseKey = (slots: readonly string[]): string => {
    const kind = dice.throw(4)
    if (kind <= 1 && slots.length > 0) return oneOf(slots)
    return kind === 2 ? `0x${dice.throw(20).toString(16)}` : bytes(32)
  }
  const choose = () => {
    const isKnown = dice.throw(2) === 0 && population.addresses.length > 0
    const address = isKnown ? oneOf(population.addresses) : bytes(20)
    const slots = population.slotsOf.get(address) ?? []
    return { address, keys: dice.times(slotsPerProof, () => chooseKey(slots)) }
  }
  for (const [number, stateRoot] of stateRoots.entries()) {
    const block = `0x${number.toString(16)}`
    const asked = dice.times(proofsPerBlock, choose)
    const answers = (await askResults(
      service,
      asked.map(({ address, keys }) => ['eth_getProof', [address, keys, block]]),
    )) as ProofAnswer[]
    const values = await askResults(
      service,
      asked.flatMap(({ address, keys }) =>
        keys.map((key) => ['eth_getStorageAt', [address, key, block]] as const),
      ),
    )
    let wrong = 0
    for (const [index, answer] of answers.entries()) {
      const at = index * slotsPerProof
      const expected = values.slice(at, at + slotsPerProof)
      const { address, keys } = asked[index] as (typeof asked)[number]
      try {
        const proven = verifyAnswer(stateRoot, answer)
        if (answer.address !== address) throw new Error(`it is of ${answer.address}`)
        if (proven.join() !== expected.join()) throw new Error(`${proven} are not ${expected}`)
        if (answer.storageProof.map(({ key }) => key).join() !== keys.join()) throw new Error('other keys')
        if ((number + index) % 20 === 0) await verifyWithLibrary(stateRoot, answer)
        seen.nonZero += proven.filter((value) => BigInt(value) !== 0n).length
        if (provenAccount(stateRoot, answer) === undefined) seen.absent++
        else seen.present++
      } catch (error) {
        wrong++
        t.fail(`block ${number}, ${address} ${keys}: ${(error as Error).message}`)
      }
    }
    t.equal(wrong, 0, `block ${number}: ${proofsPerBlock} proofs`)
  }
  return seen
}

async function verifyWithLibrary(stateRoot: string, answer: ProofAnswer): Promise<void> {
  const check = async (root: string, key: Uint8Array, proof: readonly string[], isThere: boolean) => {
    if (proof.length === 0) return
    const options = { root: bytesOf(root), useRootPersistence: false }
    const value = await verifyMerkleProof(key, proof.map(bytesOf), options)
    if ((value !== null) !== isThere) throw new Error('the library proves something else')
  }
  const isThere = provenAccount(stateRoot, answer) !== undefined
  await check(stateRoot, keccak_256(bytesOf(answer.address)), answer.accountProof, isThere)
  for (const { key, value, proof } of answer.storageProof) {
    const slot = bytesOf(`0x${key.slice(2).padStart(64, '0')}`)
    await check(answer.storageHash, keccak_256(slot), proof, value !== '0x0')
  }
}
