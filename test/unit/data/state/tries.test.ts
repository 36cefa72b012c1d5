/** Tries by path in a real store, after any blocks were applied, unwound and removed, against an independent trie. */
import { join } from 'node:path'
import { createMerkleProof, createMPT } from '@ethereumjs/mpt'
import fc from 'fast-check'
import t from 'tap'
import { decodeHeader, encodeHeader } from '../../../../src/data/chain/header.js'
import { encodeAccount } from '../../../../src/data/state/account.js'
import { buildProofJson } from '../../../../src/data/state/proof.js'
import { updateStorageRoot } from '../../../../src/data/state/stateView.js'
import { RecentTries, type TrieChange, updateTrieRows } from '../../../../src/data/state/trie.js'
import { headTries, rowSink, triesAfter } from '../../../../src/data/state/tries.js'
import type { BlockDiff, Change } from '../../../../src/data/store/blockDiff.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { type ChainTables, numberKey } from '../../../../src/data/store/tables.js'
import { sortChanges } from '../../../../src/execution/evm/blocks/stateChanges.js'
import { type Address, bytesToHex, concatBytes, type Hash32 } from '../../../../src/primitives/bytes.js'
import { FaultError } from '../../../../src/primitives/faults.js'
import { emptyCodeHash, emptyTrieRoot, keccak256 } from '../../../../src/primitives/keccak.js'
import { encodeRlp } from '../../../../src/primitives/rlp.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { verifySideTries } from '../../../../src/sources/ingest/verify/verifySideTries.js'
import { verifyTries } from '../../../../src/sources/ingest/verify/verifyTries.js'
import { londonConfig, testGenesis } from '../../../ingest/chainMaker.js'
import { propertyRuns } from '../../../library/property.js'
import { type ProofAnswer, verifyAnswer } from '../../../rpc/proofOracle.js'

/** Enough for a trie of three levels. */
const addresses = Array.from(
  { length: 300 },
  (_, at) => keccak256(Uint8Array.of(at, at >> 8)).slice(0, 20) as Address,
)
const slots = Array.from({ length: 80 }, (_, at) => keccak256(Uint8Array.of(1, at)))

/** Slot → value, of each account that there is. */
type State = ReadonlyMap<number, ReadonlyMap<number, number>>

interface Block {
  readonly diff: BlockDiff
  readonly state: State
  /** Storage root of each account. */
  readonly roots: ReadonlyMap<number, Hash32>
}

/** An account's new slots, 0 for zero; undefined if the account is removed with all its data. */
const step = fc.tuple(
  fc.oneof(fc.nat(3), fc.nat(addresses.length - 1)),
  fc.option(fc.array(fc.tuple(fc.nat(slots.length - 1), fc.nat(3)), { maxLength: 30 }), {
    nil: undefined,
    freq: 4,
  }),
)
const blockSteps = fc.array(step, { minLength: 1, maxLength: 25 })

const balanceOf = (account: number, own: ReadonlyMap<number, number>) =>
  BigInt(account + 1) * 10n ** 18n + BigInt(own.size)

/** The block after `parent` with the store at that block. */
function nextBlock(
  store: ChainWriter,
  recent: RecentTries,
  parent: Block,
  steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[],
): Block {
  const state = new Map(parent.state)
  const roots = new Map(parent.roots)
  const trie: Change[] = []
  const tries = headTries(store)
  const accounts: Change[] = []
  const accountChanges: TrieChange[] = []
  for (const [account, change] of new Map(steps)) {
    const address = addresses[account] as Address
    const before = state.get(account) ?? new Map<number, number>()
    const after = new Map(change === undefined ? [] : before)
    for (const [slot, value] of change ?? []) {
      if (value === 0) after.delete(slot)
      else after.set(slot, value)
    }
    const changed: Change[] = []
    for (const slot of new Set([...before.keys(), ...after.keys()])) {
      if (before.get(slot) === after.get(slot)) continue
      changed.push([
        slots[slot] as Hash32,
        Uint8Array.from(after.has(slot) ? [after.get(slot) as number] : []),
      ])
    }
    const root = updateStorageRoot(
      roots.get(account) ?? emptyTrieRoot,
      changed,
      tries(address),
      rowSink(trie, address),
      recent,
    )
    if (change === undefined) {
      state.delete(account)
      roots.delete(account)
    } else {
      state.set(account, after)
      roots.set(account, root)
    }
    const row =
      change &&
      encodeAccount({
        nonce: 1n,
        balance: balanceOf(account, after),
        storageRoot: root,
        codeHash: emptyCodeHash,
      })
    accounts.push([address, row ?? new Uint8Array(0)])
    accountChanges.push([keccak256(address), row])
  }
  const header = decodeHeader(parent.diff.header)
  const rlp = encodeHeader({
    ...header,
    parentHash: parent.diff.hash,
    number: header.number + 1,
    extraData: Uint8Array.of(made++ & 255, made >> 8),
    stateRoot: updateTrieRows(header.stateRoot, accountChanges, tries(), rowSink(trie), recent),
  })
  const diff = {
    ...parent.diff,
    number: header.number + 1,
    hash: keccak256(rlp),
    parentHash: parent.diff.hash,
    header: rlp,
    accounts: sortChanges(accounts),
    slots: [],
    trie: sortChanges(trie),
    code: [],
  }
  return { diff, state, roots }
}

let made = 0

async function mptOf(rows: Iterable<readonly [Uint8Array, Uint8Array]>) {
  const mpt = await createMPT({ useRootPersistence: false })
  for (const [key, value] of rows) await mpt.put(keccak256(key), value)
  return mpt
}

/** Compares the proof of an account and some slots with those of an independent trie. */
async function compareProof(
  store: ChainWriter,
  { diff, state, roots }: Block,
  account: number,
  chosen: readonly number[],
): Promise<void> {
  const { number, hash } = diff
  const { stateRoot } = decodeHeader(diff.header)
  const address = addresses[account] as Address
  const keys = chosen.map((slot) => ({ slot: slots[slot] as Hash32, writtenBytes: 32 }))
  const tries = triesAfter(store, { number, hash })
  const json = buildProofJson(tries, { number, block: hash, stateRoot, address, keys })
  const answer = JSON.parse(Buffer.from(json).toString()) as ProofAnswer
  verifyAnswer(bytesToHex(stateRoot), answer)
  const own = state.get(account)
  const accounts = await mptOf(
    [...state].map(([each, has]) => {
      const storageRoot = roots.get(each) as Hash32
      const row = encodeAccount({
        nonce: 1n,
        balance: balanceOf(each, has),
        storageRoot,
        codeHash: emptyCodeHash,
      })
      return [addresses[each] as Address, row]
    }),
  )
  const storage = await mptOf(
    [...(own ?? [])].map(([slot, value]) => [slots[slot] as Hash32, encodeRlp(Uint8Array.of(value))]),
  )
  const nodesOf = async (mpt: typeof storage, key: Uint8Array) => {
    const nodes = mpt.root().every((byte, at) => byte === emptyTrieRoot[at])
      ? []
      : await createMerkleProof(mpt, keccak256(key))
    return nodes.filter((node, at) => at === 0 || node.length >= 32).map(bytesToHex)
  }
  const expected = [
    await nodesOf(accounts, address),
    ...(await Promise.all(keys.map(({ slot }) => nodesOf(storage, slot)))),
  ]
  const got = [answer.accountProof, ...answer.storageProof.map(({ proof }) => proof)]
  if (expected.map(String).join(';') !== got.map(String).join(';'))
    throw new Error(`block ${number}: account ${account} has other nodes`)
  for (const [at, slot] of chosen.entries()) {
    const value = `0x${(own?.get(slot) ?? 0).toString(16)}`
    if (answer.storageProof[at]?.value !== value)
      throw new Error(`block ${number}: slot ${slot} is not ${value}`)
  }
}

/** Flips a bit in a row of an unwound block. A reader must detect that. Returns the number of changed rows: 0 or 1. */
function countDamaged(store: ChainWriter, dice: number): number {
  const rows = [...store.allTries().sideRows()].filter(({ content }) => content.length > 0)
  const row = rows[dice % Math.max(1, rows.length)]
  if (row === undefined) return 0
  const { sideTries } = (store as unknown as { tables: ChainTables }).tables
  const key = concatBytes(numberKey(row.number), row.hash, row.key)
  const content = row.content.slice()
  const at = dice % content.length
  content[at] = (content[at] as number) ^ (1 << (dice & 7))
  sideTries.putSync(key, content)
  const faults: string[] = []
  verifySideTries(store, (fault) => faults.push(fault))
  sideTries.putSync(key, row.content)
  if (faults.length === 0) throw new Error(`byte ${at} of ${bytesToHex(key)} may be anything`)
  return 1
}

const moves = fc.array(
  fc.record({
    back: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(4) }),
    blocks: fc.array(blockSteps, { minLength: 1, maxLength: 6 }),
    isHeld: fc.boolean(),
  }),
  { minLength: 1, maxLength: 8 },
)

t.test(
  'proofs of every kept block, and of blocks that were left, are those of an independent trie',
  async (t) => {
    const genesis = parseGenesis(JSON.stringify({ ...testGenesis(londonConfig()), alloc: {} }))
    const folder = t.testdir()
    let run = 0
    let left = 0
    let damaged = 0
    let proved = 0
    await fc.assert(
      fc.asyncProperty(
        moves,
        fc.option(fc.integer({ min: 5, max: 12 }), { nil: undefined, freq: 1 }),
        fc.nat(),
        async (moves, kept, dice) => {
          const trie = kept ?? Number.POSITIVE_INFINITY
          const history = {
            state: Number.POSITIVE_INFINITY,
            receipts: Number.POSITIVE_INFINITY,
            bodies: Number.POSITIVE_INFINITY,
            trie,
          }
          const store = ChainWriter.openForWriting({
            path: join(folder, `${run++}.mdb`),
            mapBytes: 2 ** 30,
            history,
          })
          try {
            store.initialize(genesis.identity, genesis.blockDiff)
            const recent = new RecentTries()
            const chain: Block[] = [{ diff: genesis.blockDiff, state: new Map(), roots: new Map() }]
            const leftBlocks: Block[] = []
            for (const { back, blocks, isHeld } of moves) {
              const fork = Math.max(0, chain.length - 1 - back)
              if (isHeld) store.beginBatch()
              store.apply(fork, [])
              leftBlocks.push(...chain.splice(fork + 1))
              for (const steps of blocks) {
                const block = nextBlock(store, recent, chain.at(-1) as Block, steps)
                store.apply(chain.length - 1, [block.diff])
                chain.push(block)
              }
              await store.commitBatch()
            }
            while (store.cutHistory());
            const oldest = store.readOldestKept().trie
            const faults: string[] = []
            verifyTries(store, { head: chain.length - 1, oldest, onProgress: () => undefined }, (fault) =>
              faults.push(fault),
            )
            verifySideTries(store, (fault) => faults.push(fault))
            if (faults.length > 0) throw new Error(faults.join())
            if (kept === undefined) damaged += countDamaged(store, dice)
            for (const block of [...chain, ...leftBlocks]) {
              const { number } = block.diff
              const account = (dice + number * 7) % (number % 2 === 0 ? 4 : addresses.length)
              const chosen = [0, 1, 2].map((each) => (dice + each * 31 + number) % slots.length)
              try {
                await compareProof(store, block, account, chosen)
                proved++
                if (leftBlocks.includes(block)) left++
              } catch (error) {
                if (!(error instanceof FaultError) || error.fault.kind !== 'HistoryPruned') throw error
                const isCut = chain.includes(block) ? number < oldest : true
                if (!isCut || error.fault.oldest !== oldest)
                  throw new Error(`block ${number} is said to be removed`)
              }
            }
          } finally {
            await store.close()
          }
        },
      ),
      propertyRuns(25),
    )
    t.ok(proved > 100 && left > 5, `${proved} blocks, ${left} of them left`)
    t.ok(damaged > 0, `${damaged} rows were damaged`)
  },
)
