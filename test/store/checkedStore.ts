import type { Test } from 'tap'
import { ChainWriter } from '../../src/data/store/chainWriter.js'
import { bytesToHex } from '../../src/primitives/bytes.js'
import { verifyChain } from '../../src/sources/ingest/verify/verifyChain.js'

/** A block as far as its name. */
interface Named {
  readonly hash: Uint8Array
}

/**
 * Number and hash of the head of a store, every block and state of which was checked; undefined before its genesis. The
 * head is one of `known`, if these are given.
 */
export async function checkedHead(
  t: Test,
  storePath: string,
  known?: readonly Named[],
): Promise<{ readonly number: number; readonly hash: string } | undefined> {
  const store = ChainWriter.openForWriting({ path: storePath, mapBytes: 2 ** 30 })
  try {
    const head = store.readHead()
    if (head === undefined) {
      t.equal(store.readIdentity(), undefined)
      return undefined
    }
    const { number } = head
    const { faults } = verifyChain(store, { blocks: 3, seed: number, onProgress: () => undefined })
    t.strictSame(faults, [], `no fault at block ${number}`)
    const hash = bytesToHex(head.hash)
    const isKnown = known?.some((each) => bytesToHex(each.hash) === hash) ?? true
    t.ok(number === 0 || isKnown, 'the head is a known block')
    return { number, hash }
  } finally {
    await store.close()
  }
}
