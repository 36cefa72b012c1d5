import { createMPT } from '@ethereumjs/mpt'
import fc from 'fast-check'
import t from 'tap'
import {
  indexedRoot,
  RecentTries,
  readTrie,
  type TrieChange,
  trieLeaves,
  updateTrie,
  updateTrieRows,
} from '../../../../src/data/state/trie.js'
import { MissingNodeError, type NodeReader } from '../../../../src/data/state/trieNode.js'
import { rowSink, TrieOverlay } from '../../../../src/data/state/tries.js'
import type { Change } from '../../../../src/data/store/blockDiff.js'
import { bytesToHex, type Hash32, toHash32 } from '../../../../src/primitives/bytes.js'
import { emptyTrieRoot, keccak256 } from '../../../../src/primitives/keccak.js'
import { emptyState } from '../../../library/emptyState.js'
import { propertyRuns } from '../../../library/property.js'

/** Few distinct keys with long common prefixes, so that extensions split, merge and vanish often. */
const key = fc
  .array(fc.constantFrom(0x00, 0x01, 0x10, 0x11, 0xff), { minLength: 4, maxLength: 4 })
  .map((tail) => {
    const bytes = new Uint8Array(32)
    bytes.set(tail)
    return bytes
  })
const value = fc.option(fc.uint8Array({ minLength: 1, maxLength: 40 }), { nil: undefined, freq: 2 })
const rounds = fc.array(
  fc.uniqueArray(fc.tuple(key, value), { selector: ([k]) => bytesToHex(k), maxLength: 30 }),
  {
    maxLength: 6,
  },
)

t.test('after any sequence of updates the root equals that of an independent trie', async (t) => {
  await fc.assert(
    fc.asyncProperty(rounds, async (rounds) => {
      const nodes = new Map<string, Uint8Array>()
      const readNode = (hash: Uint8Array) => nodes.get(bytesToHex(hash))
      const recent = new RecentTries()
      const reference = await createMPT({ useRootPersistence: false })
      let root: Hash32 = emptyTrieRoot
      const held = new Map<string, Uint8Array>()
      for (const changes of rounds) {
        const before = root
        const emitted = new Map<string, Uint8Array>()
        const emit = (hash: Hash32, rlp: Uint8Array) => emitted.set(bytesToHex(hash), rlp)
        root = updateTrie(before, changes, readNode, emit)
        const again = new Map<string, Uint8Array>()
        const read = (hash: Uint8Array) => {
          if (nodes.size > 0 && bytesToHex(hash) === bytesToHex(before))
            throw new Error('the root is read again')
          return readNode(hash)
        }
        updateTrie(before, changes, read, (hash, rlp) => again.set(bytesToHex(hash), rlp), recent)
        if ([...emitted].join() !== [...again].join()) return false
        for (const [hash, rlp] of emitted) nodes.set(hash, rlp)
        for (const [k, v] of changes) {
          if (v === undefined) {
            await reference.del(k)
            held.delete(bytesToHex(k))
          } else {
            await reference.put(k, v)
            held.set(bytesToHex(k), v)
          }
        }
        if (bytesToHex(root) !== bytesToHex(reference.root())) return false
      }
      for (const [k, v] of held) {
        const read = readTrie(root, Buffer.from(k.slice(2), 'hex'), readNode)
        if (read === undefined || bytesToHex(read) !== bytesToHex(v)) return false
      }
      const leaves = [...trieLeaves(root, readNode)].map(([k, v]) => `${bytesToHex(k)}=${bytesToHex(v)}`)
      const expected = [...held].sort(([a], [b]) => (a < b ? -1 : 1)).map(([k, v]) => `${k}=${bytesToHex(v)}`)
      return leaves.join() === expected.join()
    }),
    propertyRuns(100),
  )
  t.pass('all rounds agree')
})

/** Rows of a trie by path, as a store keeps them. */
class Rows {
  readonly held = new Map<string, Uint8Array>()
  readonly overlay = new TrieOverlay()
  root: Hash32 = emptyTrieRoot

  /** Applies changes; returns the stored nodes. */
  update(changes: readonly TrieChange[], recent?: RecentTries): [string, string][] {
    const put: Change[] = []
    this.root = updateTrieRows(this.root, changes, this.read(), rowSink(put), recent)
    this.overlay.add(put)
    const named = put.map(([key, row]) => [bytesToHex(key), bytesToHex(row)] as [string, string]).sort()
    for (const [key, row] of put) {
      if (row.length === 0) this.held.delete(bytesToHex(key))
      else this.held.set(bytesToHex(key), row)
    }
    return named
  }

  read(): NodeReader {
    return this.overlay.over(emptyState.tries)()
  }
}

t.test(
  'rows of a trie by path are those of a trie that is built at once, and lead to every leaf',
  async (t) => {
    await fc.assert(
      fc.property(rounds, (rounds) => {
        const one = new Rows()
        const two = new Rows()
        const recent = new RecentTries()
        const nodes = new Map<string, Uint8Array>()
        const readNode = (hash: Uint8Array) => nodes.get(bytesToHex(hash))
        let root: Hash32 = emptyTrieRoot
        const content = new Map<string, TrieChange>()
        for (const changes of rounds) {
          root = updateTrie(root, changes, readNode, (hash, rlp) => nodes.set(bytesToHex(hash), rlp))
          t.strictSame(one.update(changes), two.update(changes, recent), 'whatever is in memory')
          t.strictSame([one.root, two.root], [root, root])
          for (const change of changes) {
            if (change[1] === undefined) content.delete(bytesToHex(change[0]))
            else content.set(bytesToHex(change[0]), change)
          }
          const whole = new Rows()
          whole.update([...content.values()])
          t.strictSame(one.held.size, whole.held.size)
          for (const [key, row] of whole.held)
            t.strictSame(bytesToHex(one.held.get(key) ?? row.subarray(1)), bytesToHex(row))
          for (const [k, v] of content.values()) t.strictSame(readTrie(root, k, one.read()), v)
          const leaves = (read: NodeReader) => [...trieLeaves(root, read)].map((leaf) => leaf.map(bytesToHex))
          t.strictSame(leaves(one.read()), leaves(readNode))
        }
      }),
      propertyRuns(100),
    )
  },
)

t.test('the root of an indexed list equals that of an independent trie', async (t) => {
  const { RLP } = await import('@ethereumjs/rlp')
  for (const count of [0, 1, 2, 127, 128, 129, 256, 300]) {
    const values = Array.from({ length: count }, (_, i) => keccak256(Uint8Array.of(i & 255, i >> 8)))
    const reference = await createMPT({ useRootPersistence: false })
    for (const [i, v] of values.entries()) await reference.put(RLP.encode(i), v)
    t.equal(bytesToHex(indexedRoot(values)), bytesToHex(reference.root()), `${count} values`)
  }
})

t.test('a missing node is named, not taken for an absent key', async (t) => {
  const root = toHash32(new Uint8Array(32).fill(7))
  t.throws(() => readTrie(root, new Uint8Array(32), () => undefined), MissingNodeError)
  t.throws(
    () =>
      updateTrie(
        root,
        [[new Uint8Array(32), new Uint8Array(1)]],
        () => undefined,
        () => {},
      ),
    MissingNodeError,
  )
})
