import fc from 'fast-check'
import t from 'tap'
import { SortedTrie } from '../../../../src/data/state/sortedTrie.js'
import { updateTrieRows } from '../../../../src/data/state/trie.js'
import { bytesToHex } from '../../../../src/primitives/bytes.js'
import { emptyTrieRoot, keccak256 } from '../../../../src/primitives/keccak.js'
import { propertyRuns } from '../../../library/property.js'

/** Few distinct keys with long common prefixes, so that extensions split, and hashed ones. */
const near = fc
  .array(fc.constantFrom(0x00, 0x01, 0x10, 0x11, 0xff), { minLength: 4, maxLength: 4 })
  .map((tail) => {
    const bytes = new Uint8Array(32)
    bytes.set(tail)
    return bytes
  })
const far = fc
  .nat(1_000)
  .map((number) => Uint8Array.from(keccak256(Uint8Array.of(number >> 8, number & 255))))
const leaves = fc.uniqueArray(fc.tuple(fc.oneof(near, far), fc.uint8Array({ minLength: 1, maxLength: 40 })), {
  selector: ([key]) => bytesToHex(key),
  maxLength: 60,
})

t.test('leaves in order give the root and the rows of a trie that is made at once', (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(leaves, fc.integer({ min: 1, max: 7 }), (leaves, most) => {
        const wanted = new Map<string, string>()
        const root = updateTrieRows(
          emptyTrieRoot,
          leaves,
          () => undefined,
          (path, row) => wanted.set(path.join(), bytesToHex(row)),
        )
        const got = new Map<string, string>()
        let isTwice = false
        const trie = new SortedTrie((path, row) => {
          isTwice ||= got.has(path.join())
          got.set(path.join(), bytesToHex(row))
        }, most)
        for (const twice of [false, true]) {
          got.clear()
          const inOrder = [...leaves].sort(([a], [b]) => Buffer.compare(a, b))
          for (const [key, value] of inOrder) trie.add(key, value)
          if (bytesToHex(trie.finish()) !== bytesToHex(root) || isTwice) return false
          if ([...got].sort().join() !== [...wanted].sort().join()) return false
          if (twice) return true
        }
        return false
      }),
      propertyRuns(1_000),
    ),
  )
  t.end()
})
