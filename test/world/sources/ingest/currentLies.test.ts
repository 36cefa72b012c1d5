// @shares
/**
 * Lies in the data that keep a gateway current: in each part of an access list and of a witness. A lying node is
 * accused, and another is asked. The changes that the gateway then has are the changes of the block.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ForkSchedule } from '../../../../src/data/chain/forks.js'
import { decodeAccount } from '../../../../src/data/state/account.js'
import type { ChainIdentity } from '../../../../src/data/store/chainRows.js'
import type { BlockChanges } from '../../../../src/data/store/storedValues.js'
import {
  type Address,
  bytesToHex,
  equalBytes,
  type Hash32,
  hexToBytes,
  latin1KeyToBytes,
} from '../../../../src/primitives/bytes.js'
import { decodeRlp, encodeRlp, type RlpItem } from '../../../../src/primitives/rlp.js'
import { HeadReader } from '../../../../src/sources/ingest/gateway/headReader.js'
import { ProofFetcher } from '../../../../src/sources/ingest/gateway/proofFetcher.js'
import type { Asking } from '../../../../src/sources/ingest/nodes/proving.js'
import { NodeError, type Upstream } from '../../../../src/sources/upstream/upstream.js'
import { amsterdamFile, withoutAmsterdam } from '../../../ingest/amsterdam.js'
import { makeAmsterdamReplay } from '../../../ingest/amsterdamReplay.js'
import { makeLinkedStore } from '../../../ingest/archiveNodes.js'
import { ArchiveNode, type Offer } from '../../../ingest/gatewayRig.js'
import { Dice, propertyRuns } from '../../../library/property.js'
import { misarrange, tellOneLie } from '../../../upstream/lies.js'
import { upstreamDouble } from '../../../upstream/upstreamDouble.js'

const nothing = new Uint8Array(0)
/** Blocks whose headers the gateway has below the one that is read. */
const linked = 8

/** The methods with lies, and how often a false answer is as good as an honest one. */
const lied: readonly (readonly [method: string, offers: readonly Offer[]])[] = [
  ['debug_getRawBlockAccessList', ['accessList']],
  ['eth_getBlockAccessList', ['accessListJson']],
  ['debug_executionWitness', ['witness']],
]

/** A lying node, which is asked first, and an honest node, with the same chain. */
class TwoNodes implements Asking {
  readonly quorum = 1
  readonly count = 2
  lie = 'none'
  accused: string | undefined
  /** Whether the honest node was asked in place of the lying one. */
  isPassedOver = false
  readonly #liar: Upstream = upstreamDouble('liar', (what) => {
    this.accused = what
  })
  readonly #honest: Upstream = upstreamDouble('honest', (what) => t.fail(`honest: ${what}`))
  readonly #archive: ArchiveNode
  readonly #method: string
  readonly #dice: Dice

  constructor(archive: ArchiveNode, method: string, dice: Dice) {
    this.#archive = archive
    this.#method = method
    this.#dice = dice
  }

  get candidates(): readonly Upstream[] {
    return this.accused === undefined ? [this.#liar, this.#honest] : [this.#honest]
  }

  async ask(
    method: string,
    params: readonly unknown[],
    { not = [], only, first }: { not?: readonly Upstream[]; only?: Upstream; first?: Upstream | undefined },
  ) {
    const may = (node: Upstream | undefined) =>
      node !== undefined && !not.includes(node) && this.candidates.includes(node)
    const upstream = only ?? [first, ...this.candidates].find(may)
    if (upstream === undefined) throw new Error('nobody is left')
    const answer = this.#archive.answer({ method, params })
    if ('error' in answer) throw new NodeError(upstream, answer.error.code, answer.error.message, undefined)
    if (upstream === this.#honest && method === this.#method) this.isPassedOver = true
    if (upstream === this.#honest || method !== this.#method) return { result: answer.result, upstream }
    const { lie, where } = this.#lieAbout(answer.result)
    this.lie = where
    return { result: lie, upstream }
  }

  #lieAbout(result: unknown): { readonly lie: unknown; readonly where: string } {
    if (this.#dice.throw(2) === 0) return tellOneLie(result, this.#dice)
    if (typeof result !== 'string') return misarrange(result, this.#dice)
    const { lie, where } = misarrange(decodeRlp(hexToBytes(result)), this.#dice)
    return { lie: bytesToHex(encodeRlp(lie as RlpItem)), where }
  }
}

/** The faults of these changes of the archive's head; undefined if they are right. */
function wrongAmong(changes: BlockChanges | undefined, archive: ArchiveNode): string | undefined {
  const { number } = archive.head
  const { store } = archive
  if (changes === undefined) return 'nothing is known'
  for (const change of changes.values()) {
    const address = change.address as Address
    const want = store.readAccountAt(address, number)
    const got = change.after(store.readAccountAt(address, number - 1) ?? nothing)
    if (got === undefined) continue
    if (got.length > 0 !== (want !== undefined))
      return `${bytesToHex(address)} is ${got.length === 0 ? 'absent' : 'there'}`
    if (want !== undefined) {
      const mine = decodeAccount(got)
      const its = decodeAccount(want)
      const isSame =
        mine.nonce === its.nonce && mine.balance === its.balance && equalBytes(mine.codeHash, its.codeHash)
      if (!isSame) return `${bytesToHex(address)} is another account`
    }
    for (const [name, value] of change.slots) {
      const slot = Uint8Array.from(latin1KeyToBytes(name)) as Uint8Array as Hash32
      const expected = store.readSlotAt(address, slot, number) ?? nothing
      if (!equalBytes(value, expected)) return `slot ${bytesToHex(slot)} of ${bytesToHex(address)}`
    }
  }
  // A missing change would show in the number of changes.
  const replaced = store.readReplacedState(number)
  for (const [address] of replaced?.accounts ?? []) {
    if (!changes.has(Buffer.from(address).toString('latin1'))) return `${bytesToHex(address)} is left out`
  }
  return undefined
}

const { numRuns = 0, seed = 0 } = propertyRuns(120)

t.test('no lie about what a block changes is believed', { skip: withoutAmsterdam }, async (t) => {
  const dice = new Dice(seed)
  const genesis = readFileSync(amsterdamFile('a1-cross', 'genesis.json'), 'utf8')
  const { blocks } = await makeAmsterdamReplay(t, { length: 70, from: 44, intervalMs: 0 })
  const archive = await ArchiveNode.open(t, genesis, [])
  for (const { rlp } of blocks.slice(0, 50)) await archive.take(rlp)
  const identity = archive.store.readIdentity() as ChainIdentity
  const options = { schedule: ForkSchedule.of(identity), fetchMsMax: 60_000 }
  const counts = { caught: 0, lacking: 0, harmless: 0 }
  const perBlock = Math.ceil(numRuns / 20 / lied.length)
  for (const { rlp, number, hash } of blocks.slice(50)) {
    await archive.take(rlp)
    const store = makeLinkedStore(join(t.testdir(), 'chain.mdb'), archive.store, number - linked, linked)
    for (const [method, offers] of lied) {
      archive.offers = new Set(offers)
      for (let run = 0; run < perBlock; run++) {
        const nodes = new TwoNodes(archive, method, dice)
        const reader = new HeadReader(store, new ProofFetcher(store, nodes, options), options)
        const found = await reader.read(hash as Hash32)
        const wrong = wrongAmong(found?.changes, archive)
        if (wrong !== undefined)
          t.fail(`${method}, ${nodes.lie}: ${wrong}`, { seed, number, run, accused: nodes.accused ?? '' })
        if (nodes.accused === undefined) counts[nodes.isPassedOver ? 'lacking' : 'harmless']++
        else {
          counts.caught++
          if (!/access list|witness|block \d+ .* is invalid/.test(nodes.accused)) t.fail(nodes.accused)
        }
      }
    }
    await store.close()
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.caught + counts.lacking > 2 * counts.harmless, 'most lies are no other form of the truth')
})
