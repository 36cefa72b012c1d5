/** Reads Merkle Patricia tries (yellow paper, appendix D) from only the nodes of a proof. */
import { keccak_256 } from '@noble/hashes/sha3.js'
import { decodeRlp, type RlpItem, rlpBytes } from '../primitives/rlp.js'
import { hexOf, readHex, refuse } from './bytes.js'

/** Keccak-256 of RLP's empty string: the root of a trie without entries. */
export const emptyTrieRoot = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'

/** The nodes of a proof, by their own hash. Each must be needed: an unused node proves nothing, and may be an error. */
export class ProofNodes {
  readonly #nodes = new Map<string, RlpItem>()
  readonly #unused = new Set<string>()
  readonly #what: string

  /** `what` names the proof in errors. Throws {@link VerifyError}. */
  constructor(nodes: unknown, what: string) {
    this.#what = what
    if (!Array.isArray(nodes)) refuse(`${what} is not a list`)
    for (const [index, node] of nodes.entries()) {
      const rlp = readHex(node, `${what}[${index}]`)
      const hash = hexOf(keccak_256(rlp))
      if (this.#nodes.has(hash)) refuse(`${what}[${index}] is there twice`)
      this.#nodes.set(hash, decodeRlp(rlp))
      this.#unused.add(hash)
    }
  }

  /**
   * The value under `key` in the trie with this root; undefined if the nodes prove that there is none. Throws
   * {@link VerifyError} if they prove neither.
   */
  read(root: Uint8Array, key: Uint8Array): Uint8Array | undefined {
    if (hexOf(root) === emptyTrieRoot) return undefined
    const nibbles = nibblesOf(key)
    let node = this.#find(root)
    let depth = 0
    for (;;) {
      if (node instanceof Uint8Array) return this.#refuse('has a node that is no list')
      let child: RlpItem | undefined
      if (node.length === 17) {
        if (depth === nibbles.length) return valueIn(node[16])
        child = node[nibbles[depth++] as number]
      } else if (node.length === 2) {
        const { isLeaf, path } = this.#readPath(rlpBytes(node[0]))
        if (path.some((nibble, at) => nibbles[depth + at] !== nibble)) return undefined
        depth += path.length
        if (isLeaf) return depth === nibbles.length ? valueIn(node[1]) : undefined
        child = node[1]
      }
      if (child === undefined) return this.#refuse('has a node that is none of a trie')
      if (!(child instanceof Uint8Array)) node = child
      else if (child.length === 0) return undefined
      else node = this.#find(child)
    }
  }

  /** Throws {@link VerifyError} if a node was not needed. */
  requireAllUsed(): void {
    if (this.#unused.size > 0) this.#refuse('has a node that belongs to no path of it')
  }

  #find(hash: Uint8Array): RlpItem {
    const name = hexOf(hash)
    const node = this.#nodes.get(name)
    if (node === undefined) return this.#refuse(`lacks the node ${name}`)
    this.#unused.delete(name)
    return node
  }

  /** Reads the hex-prefix encoding of a path (yellow paper, appendix C). */
  #readPath(coded: Uint8Array): { readonly isLeaf: boolean; readonly path: readonly number[] } {
    const [flags, first, ...rest] = nibblesOf(coded)
    if (flags === undefined || first === undefined || flags > 3 || (flags % 2 === 0 && first !== 0)) {
      return this.#refuse('has a node with a malformed path')
    }
    return { isLeaf: flags >= 2, path: flags % 2 === 0 ? rest : [first, ...rest] }
  }

  #refuse(why: string): never {
    refuse(`${this.#what} ${why}`)
  }
}

function nibblesOf(bytes: Uint8Array): number[] {
  return [...bytes].flatMap((byte) => [byte >> 4, byte & 15])
}

function valueIn(item: RlpItem | undefined): Uint8Array | undefined {
  const value = rlpBytes(item)
  return value.length === 0 ? undefined : value
}
