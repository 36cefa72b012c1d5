// @shares
/** Blocks, receipts and proofs of other families from their JSON. */
import t from 'tap'
import { ethereum } from '../../../../src/data/chain/families/ethereum.js'
import { familyNamed } from '../../../../src/data/chain/families/families.js'
import type { ChainFamily } from '../../../../src/data/chain/families/family.js'
import { bytesOfHex, bytesToHex } from '../../../../src/primitives/bytes.js'
import { checkProof } from '../../../../src/sources/ingest/gateway/accountProof.js'
import {
  type FamilyBlock,
  readFamilyBlock,
  readFamilyReceipts,
} from '../../../../src/sources/ingest/gateway/familyBlock.js'
import { NotProvedError } from '../../../../src/sources/ingest/nodes/lie.js'
import { Dice, propertyRuns } from '../../../library/property.js'
import { coded, FamilyNode, familyFixture, oddSlot } from '../../../upstream/familyNode.js'
import { type MadeFamily, madeFamily } from '../../../upstream/madeFamilies.js'

const cases = [
  ['go-arbitrum', 'arbitrum'],
  ['rule-bsc', 'bsc'],
  ['rule-scroll', 'scroll'],
  ['rule-avalanche', 'avalanche'],
  ['rule-polygon', 'polygon'],
] as const
const made = [
  ['celo', 'celo'],
  ['base', 'base'],
  ['mantle', 'mantle'],
  ['linea', 'linea'],
  ['gnosis', 'gnosis'],
  ['helicon', 'avalanche'],
  ['zksync', 'zksync'],
  ['unknown', 'other'],
] as const satisfies readonly (readonly [MadeFamily, string])[]
const all = [
  ...cases.map(([name, family]) => [name, family, async () => familyFixture(name)] as const),
  ...made.map(([name, family]) => [name, family, () => madeFamily(name)] as const),
]

function read(json: unknown, family: ChainFamily, chainId: number): Promise<FamilyBlock> {
  return readFamilyBlock(json, { family, chainId: BigInt(chainId), rawOf: async () => undefined })
}

/** The same value, but with one changed hex digit or member. */
function mutated<T>(value: T, dice: Dice): T {
  const copy = JSON.parse(JSON.stringify(value)) as T
  const places: (readonly [Record<string, unknown>, string])[] = []
  const walk = (of: unknown): void => {
    if (typeof of !== 'object' || of === null) return
    for (const [name, each] of Object.entries(of)) {
      if (typeof each === 'string' && /^0x[0-9a-f]+$/i.test(each)) places.push([of as never, name])
      walk(each)
    }
  }
  walk(copy)
  const [owner, name] = places[dice.throw(places.length)] as (typeof places)[number]
  const text = owner[name] as string
  if (dice.throw(8) === 0) delete owner[name]
  else {
    const at = 2 + dice.throw(text.length - 2)
    const digit = ((Number.parseInt(text[at] as string, 16) + 1 + dice.throw(15)) % 16).toString(16)
    owner[name] = text.slice(0, at) + digit + text.slice(at + 1)
  }
  return copy
}

for (const [name, familyName, fixtureOf] of all) {
  t.test(`${name}: what is changed is refused, told, or not what roots cover`, async (t) => {
    const fixture = await fixtureOf()
    const family = familyNamed(familyName)
    const { numRuns, seed } = propertyRuns(400)
    const dice = new Dice(seed as number)
    const counts = { refused: 0, reported: 0, same: 0 }
    for (let run = 0; run < (numRuns as number); run++) {
      const { block, receipts } = fixture.blocks[1 + dice.throw(24)] as (typeof fixture.blocks)[number]
      const honest = await read(block, family, fixture.chainId)
      const ofReceipts = dice.throw(2) === 0
      try {
        if (ofReceipts) {
          const right = readFamilyReceipts(receipts, honest, family)
          const got = readFamilyReceipts(mutated(receipts, dice), honest, family)
          if (got.reported?.evidence !== 'proved') counts.reported++
          else {
            t.strictSame(got.row, right.row)
            counts.same++
          }
          continue
        }
        const got = await read(mutated(block, dice), family, fixture.chainId)
        if (got.reported.evidence !== 'proved') {
          counts.reported++
          continue
        }
        counts.same++
        t.strictSame(got.hash, honest.hash)
        t.strictSame(
          [got.headerRlp, got.bodyRlp, got.senders],
          [honest.headerRlp, honest.bodyRlp, honest.senders],
        )
      } catch (error) {
        if (!/Lie|Malformed|NotProved|BlockJson|Rlp|Range/.test((error as Error).name)) throw error
        counts.refused++
      }
    }
    t.comment(JSON.stringify(counts))
    t.ok(counts.refused + counts.reported > counts.same / 4)
  })
}

t.test('a member that a field of the header covers by its hash is compared', async (t) => {
  const { blocks, chainId } = await madeFamily('helicon')
  const block = blocks[1]?.block as object
  const family = familyNamed('avalanche')
  for (const blockExtraData of ['0x01', '0x00']) {
    await t.rejects(read({ ...block, blockExtraData }, family, chainId), { name: 'LieError' })
  }
  for (const blockExtraData of ['01', 1]) {
    await t.rejects(read({ ...block, blockExtraData }, family, chainId), { name: 'MalformedError' })
  }
  for (const blockExtraData of ['0x', undefined, null]) {
    t.match(await read({ ...block, blockExtraData }, family, chainId), { reported: { evidence: 'proved' } })
  }
})

t.test('an account of another number of items proves nothing, and is no lie', async (t) => {
  const node = new FamilyNode(familyFixture('rule-avalanche'))
  const answer = (await node.answer({ method: 'eth_getProof', params: [coded, [oddSlot]] })) as never
  const { result } = answer as { readonly result: unknown }
  const block = node.fixture.blocks[1]?.block as never as { readonly stateRoot: string }
  const question = {
    stateRoot: bytesOfHex(block.stateRoot, 32),
    address: bytesOfHex(coded, 20),
    slots: [bytesOfHex(oddSlot, 32)],
  } as never
  t.throws(() => checkProof(result, question), NotProvedError)
  const { trieForm } = familyNamed('avalanche').proofs
  const [, value] = checkProof(result, question, { trieForm }).values.slots[0] as readonly Uint8Array[]
  t.equal(bytesToHex(value as Uint8Array), '0x07')
})

t.test('a changed proof is refused, or proves the same', async (t) => {
  for (const [name, family] of [
    ['rule-bsc', 'bsc'],
    ['rule-avalanche', 'avalanche'],
  ] as const) {
    const node = new FamilyNode(familyFixture(name))
    const { result } = (await node.answer({ method: 'eth_getProof', params: [coded, [oddSlot]] })) as never
    const block = node.fixture.blocks[1]?.block as never as { readonly stateRoot: string }
    const question = {
      stateRoot: bytesOfHex(block.stateRoot, 32),
      address: bytesOfHex(coded, 20),
      slots: [bytesOfHex(oddSlot, 32)],
    } as never
    const { trieForm } = familyNamed(family).proofs
    const right = checkProof(result, question, { trieForm }).values
    const { numRuns, seed } = propertyRuns(200)
    const dice = new Dice(seed as number)
    let refused = 0
    for (let run = 0; run < (numRuns as number); run++) {
      try {
        t.strictSame(checkProof(mutated(result, dice), question, { trieForm }).values, right)
      } catch (error) {
        if (!/Lie|Lack|Malformed|NotProved/.test((error as Error).name)) throw error
        refused++
      }
    }
    t.ok(refused > 0, `${refused} refused`)
  }
})

t.test('a transaction of a type that nobody knows is told, not a lie', async (t) => {
  const fixture = familyFixture('rule-bsc')
  const { block } = fixture.blocks[3] as (typeof fixture.blocks)[number]
  const [first, ...others] = block.transactions
  const changed = { ...block, transactions: [{ ...first, type: '0x55' }, ...others] }
  const { reported } = await read(changed, familyNamed('bsc'), fixture.chainId)
  t.equal(reported.evidence, 'none')
  await t.rejects(read(changed, ethereum, fixture.chainId), NotProvedError)
})
