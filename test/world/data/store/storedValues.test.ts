// @shares
/** Values that a gateway stores, against a model of the chain: at every block each is right or unknown. */
import { join } from 'node:path'
import t from 'tap'
import { encodeAccount } from '../../../../src/data/state/account.js'
import { openRows } from '../../../../src/data/state/provedRows.js'
import type { ChainReader } from '../../../../src/data/store/chainReader.js'
import type { ProvedState } from '../../../../src/data/store/gatewayWriter.js'
import { type CanonicalHeader, GatewayWriter } from '../../../../src/data/store/gatewayWriter.js'
import { storedValueKey } from '../../../../src/data/store/layouts/storedValueRows.js'
import type { AccountChange, BlockChanges, ProvedValues } from '../../../../src/data/store/storedValues.js'
import {
  type Address,
  concatBytes,
  equalBytes,
  type Hash32,
  latin1Key,
  toAddress,
  toHash32,
} from '../../../../src/primitives/bytes.js'
import { emptyCodeHash, emptyTrieRoot, keccak256 } from '../../../../src/primitives/keccak.js'
import { NotStoredError } from '../../../../src/primitives/notStored.js'
import { encodeRlp } from '../../../../src/primitives/rlp.js'
import { Dice, propertyRuns } from '../../../library/property.js'

const nothing = new Uint8Array(0)
const mapBytes = 2 ** 28
const addresses = [1, 2, 3].map((digit) => toAddress(new Uint8Array(20).fill(digit)))
const slots = [1, 2, 3, 4].map((digit) => toHash32(new Uint8Array(32).fill(digit)))
/** Number of blocks below the head at which all rows are read. */
const readBlocks = 12

/** A state: hex of a key → value; absent for no account and zero. */
type State = ReadonlyMap<string, Uint8Array>

interface ModelBlock extends CanonicalHeader {
  readonly state: State
  /** Undefined if the gateway does not learn the changes. */
  readonly changes: BlockChanges | undefined
}

const nameOf = (address: Address, slot?: Hash32) =>
  latin1Key(storedValueKey(slot ? 'slot' : 'account', address, slot))

class Model {
  blocks: ModelBlock[] = []
  #serial = 0
  readonly #dice: Dice

  constructor(dice: Dice) {
    this.#dice = dice
  }

  get head(): ModelBlock {
    return this.blocks.at(-1) as ModelBlock
  }

  at(number: number): ModelBlock {
    return this.blocks[number] as ModelBlock
  }

  /** A block on the last of the chain, which it becomes. */
  add(knownOf10: number): ModelBlock {
    const dice = this.#dice
    const before: State = this.blocks.at(-1)?.state ?? new Map()
    const state = new Map(before)
    const changes = new Map<string, AccountChange>()
    for (const address of addresses) {
      if (dice.throw(3) > 0) continue
      const written = new Map<string, Uint8Array>()
      for (const slot of slots) {
        if (dice.throw(2) > 0) continue
        const value = dice.throw(3) === 0 ? nothing : Uint8Array.of(1 + dice.throw(4))
        written.set(latin1Key(slot), value)
        state.delete(nameOf(address, slot))
        if (value.length > 0) state.set(nameOf(address, slot), value)
      }
      const isThere = dice.throw(5) > 0
      const balance = BigInt(1 + dice.throw(5))
      const left = slots.filter((slot) => state.has(nameOf(address, slot)))
      // A removed account loses its slots.
      for (const slot of isThere ? [] : left) {
        written.set(latin1Key(slot), nothing)
        state.delete(nameOf(address, slot))
      }
      const values = left.flatMap((slot) => [slot, state.get(nameOf(address, slot)) ?? nothing])
      const storageRoot = left.length > 0 ? keccak256(concatBytes(...values)) : emptyTrieRoot
      const row = isThere
        ? encodeAccount({ nonce: 0n, balance, storageRoot, codeHash: emptyCodeHash })
        : nothing
      state.delete(nameOf(address))
      if (isThere) state.set(nameOf(address), row)
      const isVague = dice.throw(6) === 0
      const change = { address, code: undefined, slots: written, after: () => (isVague ? undefined : row) }
      changes.set(latin1Key(address), change)
    }
    const number = this.blocks.length
    const hash = keccak256(Buffer.from(`block ${number} ${this.#serial++}`))
    const root = keccak256(hash)
    const header = encodeRlp([hash, hash, hash, root])
    const isKnown = dice.throw(10) < knownOf10
    const block = {
      number,
      hash,
      header,
      state,
      changes: isKnown ? changes : undefined,
      totalDifficulty: undefined,
    }
    this.blocks.push(block)
    return block
  }

  proved(address: Address, chosen: readonly Hash32[]): ProvedState {
    const of = (name: string) => this.head.state.get(name) ?? nothing
    const values = {
      address,
      account: of(nameOf(address)),
      slots: chosen.map((slot): [Uint8Array, Uint8Array] => [slot, of(nameOf(address, slot))]),
    }
    return { nodes: [], codeHash: undefined, values }
  }
}

function readOr(read: () => Uint8Array | undefined): Uint8Array | undefined | 'unknown' {
  try {
    return read()
  } catch (error) {
    if (error instanceof NotStoredError) return 'unknown'
    throw error
  }
}

/** The faults among all values at the newest blocks, and the number of values stored at the head. */
function wrongAmong(rows: ChainReader, model: Model): { wrong: string[]; held: number } {
  const wrong: string[] = []
  let held = 0
  const { number: last } = model.head
  for (let number = Math.max(0, last - readBlocks); number <= last; number++) {
    const { state } = model.at(number)
    for (const address of addresses) {
      for (const slot of [undefined, ...slots]) {
        const read = () =>
          slot === undefined ? rows.readAccountAt(address, number) : rows.readSlotAt(address, slot, number)
        const got = readOr(read)
        if (got === 'unknown') continue
        if (number === last) held++
        const want = state.get(nameOf(address, slot))
        if (got === undefined ? want === undefined : want !== undefined && equalBytes(got, want)) continue
        wrong.push(`block ${number} of ${last}, ${address[0]} ${slot?.[0]}: ${got}, expected ${want}`)
      }
    }
  }
  return { wrong, held }
}

const { numRuns = 0, seed = 0 } = propertyRuns(10)
const steps = 60

t.test('whatever comes, a value is right or unknown', async (t) => {
  let held = 0
  let looks = 0
  for (let run = 0; run < numRuns; run++) {
    const dice = new Dice(seed + run)
    const path = join(t.testdir(), 'chain.mdb')
    const open = () => GatewayWriter.open({ path, mapBytes })
    let store = open()
    const identity = {
      chainId: '1',
      networkId: '1',
      genesisHash: '0x00',
      config: '{}',
      gateway: true,
    } as const
    store.begin(identity)
    const model = new Model(dice)
    for (let block = 0; block < 20; block++) model.add(10)
    store.advance(-1, model.blocks.slice(-2), true)
    let rows = openRows({ path, mapBytes })
    const advance = (fork: number, isUnlinked: boolean, proved: readonly ProvedState[] = []) => {
      const above = model.blocks.slice(fork + 1)
      const changesOf = ({ number }: CanonicalHeader) => model.at(number).changes
      store.advance(fork, above, isUnlinked, { changesOf, proved })
    }
    const chosen = () => slots.filter(() => dice.throw(2) === 0)
    const someone = () => addresses[dice.throw(addresses.length)] as Address
    const log: string[] = []
    for (let step = 0; step < steps; step++) {
      const kind = dice.throw(12)
      log.push(String(kind))
      const { number } = model.head
      if (kind < 4) {
        model.add(9)
        advance(number, false)
      } else if (kind < 8) {
        t.ok(store.putState(model.proved(someone(), chosen()), model.head.hash, true))
      } else if (kind === 8) {
        const back = 1 + dice.throw(Math.min(6, number - (store.readLinkedFrom() ?? 0)))
        model.blocks.length -= back
        const count = dice.throw(back + 2)
        for (let block = 0; block < count; block++) model.add(9)
        // A branch is followed only if it has a block.
        if (count === 0) model.add(9)
        advance(number - back, false)
      } else if (kind === 9) {
        const address = someone()
        const { values } = model.proved(address, slots)
        const nonZero = values.slots.filter(([, value]) => value.length > 0)
        t.ok(store.holdWhole({ ...values, slots: nonZero } satisfies ProvedValues))
        t.ok(store.holdsWhole(address))
      } else if (kind === 10) {
        model.add(0)
        const proved = addresses.flatMap((address) =>
          dice.throw(3) > 0 ? model.proved(address, chosen()) : [],
        )
        advance(number, false, proved)
      } else if (dice.throw(3) > 0) {
        const address = someone()
        const isWhole = store.holdsWhole(address)
        if (!isWhole)
          store.dropStoredValues([
            storedValueKey('account', address),
            ...chosen().map((slot) => storedValueKey('slot', address, slot)),
          ])
      } else {
        if (dice.throw(2) === 0) {
          const gap = 1 + dice.throw(20)
          for (let block = 0; block < gap; block++) model.add(0)
          store.advance(model.head.number - 2, model.blocks.slice(-2), true)
        }
        await Promise.all([rows.close(), store.close()])
        store = open()
        store.begin(identity)
        rows = openRows({ path, mapBytes })
      }
      rows.refresh()
      const found = wrongAmong(rows, model)
      if (found.wrong.length > 0) {
        t.fail(found.wrong[0] as string, {
          seed: seed + run,
          step,
          log: log.join(' '),
          all: found.wrong.slice(0, 5),
        })
        break
      }
      looks += 15
      held += found.held
    }
    await Promise.all([rows.close(), store.close()])
  }
  t.comment(`${held} of ${looks} values were held`)
  // Usually half of them; a fifth if few runs have many gaps.
  t.ok(held > looks / 10, 'the test sees values')
})
