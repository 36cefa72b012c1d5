import { equalBytes, type Hash32 } from '../../../primitives/bytes.js'

/** How headers are asked for. */
interface HeaderQuestions<H> {
  /** What some node has at a number; undefined, or rejected, where none answers. */
  at(number: number): Promise<H | undefined>
  /** The header with this hash, which is that of a number; undefined where nobody has it. */
  byHash(hash: Hash32, number: number): Promise<H | undefined>
  parentOf(header: H): Hash32
  /** Whether a hash is that of a block that is not wanted, nor what is below; absent: none is. */
  isEnd?(hash: Hash32): boolean
}

/**
 * At most `count` headers, from the one with this hash and number downwards, newest first: each by the hash that the one
 * above names. Nodes are asked for the numbers at once; where they have another branch at one, for its hash. Fewer where
 * one further down cannot be had. Rejects as `byHash` does where that is the first.
 */
export async function linkedHeaders<H extends { readonly hash: Hash32 }>(
  { hash, number }: { readonly hash: Hash32; readonly number: number },
  count: number,
  { at, byHash, parentOf, isEnd = () => false }: HeaderQuestions<H>,
): Promise<H[]> {
  const numbers = Array.from({ length: Math.max(count, 0) }, (_, index) => number - index)
  const told: readonly (H | undefined)[] = await Promise.all(
    numbers.map((each): Promise<H | undefined> => at(each).catch(() => undefined)),
  )
  const linked: H[] = []
  let next = hash
  for (const [index, given] of told.entries()) {
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
