import type { Account } from '../../data/state/account.js'
import { equalBytes, type Hash32, latin1Key } from '../../primitives/bytes.js'
import { emptyCodeHash } from '../../primitives/keccak.js'

/** Hashes of the code that accounts have after a block and did not have before, ascending, each once. */
export class NewCode {
  readonly #hashes = new Map<string, Hash32>()

  /** Adds one account before and after the block; undefined if there is none. */
  add(before: Account | undefined, after: Account | undefined): void {
    if (after === undefined || equalBytes(after.codeHash, emptyCodeHash)) return
    if (before !== undefined && equalBytes(before.codeHash, after.codeHash)) return
    this.#hashes.set(latin1Key(after.codeHash), after.codeHash)
  }

  hashes(): Hash32[] {
    return [...this.#hashes.values()].sort(Buffer.compare)
  }
}
