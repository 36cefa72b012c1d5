import { createMerkleProof, createMPT, verifyMerkleProof } from '@ethereumjs/mpt'
import fc from 'fast-check'
import t from 'tap'
import { encodeAccount } from '../../../../src/data/state/account.js'
import { buildProofJson, TrieWalk, UpperNodes } from '../../../../src/data/state/proof.js'
import { type TrieChange, updateTrie } from '../../../../src/data/state/trie.js'
import { hashedTries } from '../../../../src/data/state/tries.js'
import { bytesToHex, type Hash32, hexToBytes, toAddress, toHash32 } from '../../../../src/primitives/bytes.js'
import { emptyCodeHash, emptyTrieRoot, keccak256 } from '../../../../src/primitives/keccak.js'
import { NotStoredError } from '../../../../src/primitives/notStored.js'
import { encodeRlp } from '../../../../src/primitives/rlp.js'
import { propertyRuns } from '../../../library/property.js'
import { type ProofAnswer, verifyAnswer, verifyNodes } from '../../../rpc/proofOracle.js'

/** A trie under construction, and the cost of reading it. */
class Nodes {
  readonly held = new Map<string, Uint8Array>()
  reads: string[] = []
  readonly read = (hash: Uint8Array): Uint8Array | undefined => {
    this.reads.push(bytesToHex(hash))
    return this.held.get(bytesToHex(hash))
  }
  update(root: Hash32, changes: readonly TrieChange[]): Hash32 {
    return updateTrie(root, changes, this.read, (hash, rlp) => this.held.set(bytesToHex(hash), rlp))
  }
}

/**
 * Keys that differ early, and keys that differ only in their last nibbles, so that short nodes are embedded in others.
 */
const key = fc
  .tuple(
    fc.constantFrom(0x00, 0x01, 0x10, 0xff),
    fc.constantFrom(0x00, 0x01, 0x10, 0x11),
    fc.constantFrom(0x00, 0x01, 0x02, 0x10, 0x21),
  )
  .map(([first, beforeLast, last]) => {
    const bytes = new Uint8Array(32)
    bytes[0] = first
    bytes[30] = beforeLast
    bytes[31] = last
    return bytes
  })
const value = fc.option(fc.uint8Array({ minLength: 1, maxLength: 40 }), { nil: undefined, freq: 4 })
const rounds = fc.array(
  fc.uniqueArray(fc.tuple(key, value), { selector: ([k]) => bytesToHex(k), maxLength: 25 }),
  { minLength: 1, maxLength: 5 },
)

function proofOf(walk: TrieWalk, key: Uint8Array) {
  const { nodes, value } = walk.prove(key)
  return { nodes: nodes.map(({ rlp }) => rlp), value }
}

let embedded = 0

t.test('proofs of random tries, grown or built at once, convince independent code', async (t) => {
  await fc.assert(
    fc.asyncProperty(rounds, fc.array(key, { maxLength: 10 }), async (rounds, others) => {
      const grown = new Nodes()
      let root: Hash32 = emptyTrieRoot
      const content = new Map<string, Uint8Array>()
      for (const changes of rounds) {
        root = grown.update(root, changes)
        for (const [k, v] of changes) {
          if (v === undefined) content.delete(bytesToHex(k))
          else content.set(bytesToHex(k), v)
        }
      }
      const fresh = new Nodes()
      const reference = await createMPT({ useRootPersistence: false })
      for (const [k, v] of content) await reference.put(hexToBytes(k), v)
      const freshRoot = fresh.update(
        emptyTrieRoot,
        [...content].map(([k, v]) => [hexToBytes(k), v]),
      )
      if (bytesToHex(freshRoot) !== bytesToHex(root)) throw new Error('the roots differ')
      const walks = [new TrieWalk(root, grown.read), new TrieWalk(root, fresh.read)]
      for (const k of [...[...content.keys()].map(hexToBytes), ...others]) {
        const [one, two] = walks.map((walk) => proofOf(walk, k))
        const expected = content.get(bytesToHex(k))
        if (one === undefined || two === undefined) throw new Error('no proof')
        const texts = one.nodes.map(bytesToHex)
        if (texts.join() !== two.nodes.map(bytesToHex).join()) throw new Error('the proofs differ')
        for (const found of [one.value, two.value, verifyNodes(bytesToHex(root), k, texts)]) {
          if (
            found === undefined ? expected !== undefined : bytesToHex(found) !== bytesToHex(expected ?? found)
          )
            throw new Error(`wrong value of ${bytesToHex(k)}`)
        }
        if (content.size === 0) continue
        const verified = await verifyMerkleProof(k, one.nodes, { root, useRootPersistence: false })
        if (bytesToHex(verified ?? new Uint8Array()) !== bytesToHex(expected ?? new Uint8Array()))
          throw new Error(`the reference verifier finds another value of ${bytesToHex(k)}`)
        if (expected === undefined) continue
        const all = await createMerkleProof(reference, k)
        const separate = all.filter((node, index) => index === 0 || node.length >= 32)
        embedded += all.length - separate.length
        if (separate.map(bytesToHex).join() !== texts.join())
          throw new Error('the reference proof has other nodes')
      }
    }),
    propertyRuns(100),
  )
  t.ok(embedded > 0, `${embedded} embedded nodes were passed`)
})

t.test('a proof with a bit changed convinces nobody', async (t) => {
  const nodes = new Nodes()
  const root = nodes.update(
    emptyTrieRoot,
    Array.from({ length: 40 }, (_, i) => [keccak256(Uint8Array.of(i)), Uint8Array.of(i + 1)]),
  )
  const key = keccak256(Uint8Array.of(7))
  const proof = proofOf(new TrieWalk(root, nodes.read), key).nodes.map(bytesToHex)
  t.same(verifyNodes(bytesToHex(root), key, proof), Uint8Array.of(8))
  for (const [index, node] of proof.entries()) {
    const bytes = hexToBytes(node)
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1
    const forged = proof.with(index, bytesToHex(bytes))
    t.throws(() => verifyNodes(bytesToHex(root), key, forged))
  }
  t.throws(() => verifyNodes(bytesToHex(root), key, proof.slice(0, -1)))
  t.throws(() => verifyNodes(bytesToHex(root), key, [...proof, proof[0] ?? '']))
})

const address = (i: number) => toAddress(keccak256(Uint8Array.of(0xad, i >> 8, i)).slice(12))
const slot = (i: number) => toHash32(Uint8Array.from({ length: 32 }, (_, at) => (at === 31 ? i : 0)))

/** 200 accounts; the one numbered `i` has `i % 50` slots, each with its number plus one as value. */
function buildState(nodes: Nodes): Hash32 {
  const accounts = Array.from({ length: 200 }, (_, i): TrieChange => {
    const slots = Array.from(
      { length: i % 50 },
      (_, at): TrieChange => [keccak256(slot(at)), encodeRlp(Uint8Array.of(at + 1))],
    )
    const storageRoot = nodes.update(emptyTrieRoot, slots)
    const account = { nonce: BigInt(i), balance: BigInt(i) ** 9n, storageRoot, codeHash: emptyCodeHash }
    return [keccak256(address(i)), encodeAccount(account)]
  })
  return nodes.update(emptyTrieRoot, accounts)
}

const state = new Nodes()
const stateRoot = buildState(state)
/** Hash of a block that these tests do not have. */
const block = keccak256(Uint8Array.of(1))

function prove(i: number, slots: readonly number[], writtenBytes = 32): ProofAnswer {
  const keys = slots.map((each) => ({ slot: slot(each), writtenBytes }))
  const json = buildProofJson(hashedTries(state.read), {
    number: 1,
    block,
    stateRoot,
    address: address(i),
    keys,
  })
  return JSON.parse(new TextDecoder().decode(json)) as ProofAnswer
}

t.test('accounts and slots, present and absent, are proven with their values', async (t) => {
  for (let i = 0; i < 260; i++) {
    const answer = prove(i, [0, 30, 255])
    const held = i < 200 ? i % 50 : 0
    const word = (value: number) => `0x${value.toString(16).padStart(64, '0')}`
    t.strictSame(
      verifyAnswer(bytesToHex(stateRoot), answer),
      [word(held > 0 ? 1 : 0), word(held > 30 ? 31 : 0), word(0)],
      `account ${i}`,
    )
    t.equal(answer.nonce, `0x${(i < 200 ? i : 0).toString(16)}`)
  }
})

t.test('members stand in the order that go-ethereum gives them', async (t) => {
  const answer = prove(3, [1])
  t.strictSame(Object.keys(answer), [
    'address',
    'accountProof',
    'balance',
    'codeHash',
    'nonce',
    'storageHash',
    'storageProof',
  ])
  t.strictSame(Object.keys(answer.storageProof[0] ?? {}), ['key', 'value', 'proof'])
})

t.test('an absent account has the fields of nothing and empty proofs of its slots', async (t) => {
  const { accountProof, address: _, ...fields } = prove(999, [5])
  t.ok(accountProof.length > 0)
  t.strictSame(fields, {
    balance: '0x0',
    codeHash: bytesToHex(emptyCodeHash),
    nonce: '0x0',
    storageHash: bytesToHex(emptyTrieRoot),
    storageProof: [{ key: `0x${'5'.padStart(64, '0')}`, value: '0x0', proof: [] }],
  })
})

t.test('a key written with 32 bytes is repeated as a hash, any other as a quantity', async (t) => {
  const keyOf = (i: number, writtenBytes: number) => prove(3, [i], writtenBytes).storageProof[0]?.key
  t.equal(keyOf(10, 32), `0x${'a'.padStart(64, '0')}`)
  for (const writtenBytes of [0, 1, 20, 31]) t.equal(keyOf(10, writtenBytes), '0xa')
  t.equal(keyOf(0, 0), '0x0')
  t.equal(keyOf(0, 32), `0x${'0'.repeat(64)}`)
})

t.test('each node is read once, however many keys share it', async (t) => {
  state.reads = []
  const slots = Array.from({ length: 256 }, (_, i) => i)
  const answer = prove(49, [...slots, ...slots])
  t.equal(new Set(state.reads).size, state.reads.length)
  t.equal(answer.storageProof.length, 512)
  t.strictSame(answer.storageProof.slice(0, 256), answer.storageProof.slice(256))
})

t.test('proofs that share their upper nodes are what each alone is, whatever state comes next', async (t) => {
  const changes: TrieChange[] = [[keccak256(address(7)), undefined]]
  const roots = [stateRoot, state.update(stateRoot, changes), emptyTrieRoot]
  const upper = new UpperNodes()
  const keys = [0, 1, 255].map((each) => ({ slot: slot(each), writtenBytes: 32 }))
  for (const root of [...roots, ...roots]) {
    for (let i = 0; i < 210; i++) {
      const request = { number: 1, block, stateRoot: root, address: address(i), keys }
      const shared = buildProofJson(hashedTries(state.read), request, upper)
      if (Buffer.compare(shared, buildProofJson(hashedTries(state.read), request)) !== 0)
        t.fail(`account ${i}`)
    }
  }
  state.reads = []
  // No two of these states have the same storage.
  for (let i = 0; i < 50; i++)
    buildProofJson(
      hashedTries(state.read),
      { number: 1, block, stateRoot, address: address(i), keys: [] },
      upper,
    )
  const repeated = state.reads.length - new Set(state.reads).size
  t.equal(repeated, 0, 'no node near the root is read twice')
})

t.test('the state without accounts has an empty proof', async (t) => {
  const request = { number: 1, block, stateRoot: emptyTrieRoot, address: address(0), keys: [] }
  const answer = JSON.parse(
    new TextDecoder().decode(
      buildProofJson(
        hashedTries(() => undefined),
        request,
      ),
    ),
  )
  t.strictSame(answer.accountProof, [])
  t.strictSame(verifyAnswer(bytesToHex(emptyTrieRoot), answer), [])
})

function wantedOf(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error instanceof NotStoredError ? error.wanted : error
  }
}

t.test('a state that is not held, whole or in part, is named with all that was asked of it', async (t) => {
  const keys = [{ slot: slot(1), writtenBytes: 32 }]
  const request = { number: 1, block, stateRoot, address: address(49), keys }
  const wanted = { kind: 'state', block, stateRoot, address: address(49), slots: [slot(1)] }
  state.reads = []
  buildProofJson(hashedTries(state.read), request)
  for (const missing of state.reads) {
    const read = (hash: Uint8Array) =>
      bytesToHex(hash) === missing ? undefined : state.held.get(bytesToHex(hash))
    t.strictSame(
      wantedOf(() => buildProofJson(hashedTries(read), request)),
      wanted,
    )
  }
})

t.test('the answer has memory of its own', async (t) => {
  const json = buildProofJson(hashedTries(state.read), {
    number: 1,
    block,
    stateRoot,
    address: address(1),
    keys: [],
  })
  t.equal(json.buffer.byteLength, json.length)
})
