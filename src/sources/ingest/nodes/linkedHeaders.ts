import { equalBytes, type Hash32 } from '../../../primitives/bytes.js'

/** Requests for headers. */
interface HeaderQuestions<H> {
  /** The header of some node at a number; undefined, or rejected, if none answers. */
  at(number: number): Promise<H | undefined>
  /** The header with this hash and number; undefined if no node has it. */
  byHash(hash: Hash32, number: number): Promise<H | undefined>
  parentOf(header: H): Hash32
  /** Whether the block with this hash, and all below it, are not wanted; if absent, all are wanted. */
  isEnd?(hash: Hash32): boolean
}

/**
 * At most `count` headers, from the one with this hash and number downwards, newest first; each is named by the hash in
 * the one above. All numbers are requested at once. If a node has another branch at one of them, the header is
 * requested by hash. Fewer headers if one further down is missing. Rejects as `byHash` does if the first is missing.
 */
export async function linkedHeaders<H extends { readonly hash: Hash32 }>(
  { hash, number }: { readonly hash: Hash32; readonly number: number },
  count: number,
  { at, byHash, parentOf, isEnd = () => false }: HeaderQuestions<H>,
): Promise<H[]> {
  const numbers = Array.from({ length: Math.max(count, 0) }, (_, index) => number - index)
  const reported: readonly (H | undefined)[] = await Promise.all(
    numbers.map((each): Promise<H | undefined> => at(each).catch(() => undefined)),
  )
  const linked: H[] = []
  let next = hash
  for (const [index, given] of reported.entries()) {
    if (isEnd(next)) break
    let header = given
    if (header === undefined || !equalBytes(header.hash, next)) {
      try {
        header = await byHash(next, number - index)
      } catch (error) {
        if (linked.length === 0) throw error
        break
      }
    }
    if (header === undefined) break
    linked.push(header)
    next = parentOf(header)
  }
  return linked
}
