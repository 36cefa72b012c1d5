/**
 * Properties of chains that are not Ethereum's: the parts that a root covers, and their hashed form. A network's family
 * is chosen once, by its identity; checks of a part use the family. Families that are executed here also have rules of
 * blocks; all others are lines of {@link provedFamilies}.
 */
import type { TransactionTypes } from '../../../primitives/transactionTypes.js'
import type { TrieForm } from '../../store/chainRows.js'

/**
 * How a part is verified: it was executed here; a hash or a Merkle proof covers it; or it is only reported by an
 * upstream, or by a quorum of them.
 */
export type Basis = 'executed' | 'proved' | 'reported'

/** Parts of a network, each with its own kind of verification. */
export const networkParts = ['headers', 'bodies', 'receipts', 'withdrawals', 'state', 'calls'] as const
export type NetworkPart = (typeof networkParts)[number]

/** The displayed kind: some blocks or calls of a part may be unverified (`reported`) while others are not. */
export type ShownBasis = Basis | 'proved or reported' | 'executed or reported'

/** Parts of a network for display. */
export const shownParts = ['headers', 'transactions', 'receipts', 'state', 'calls'] as const

/** Parts that a network lacks are absent. */
export type NetworkBasis = Readonly<Partial<Record<(typeof shownParts)[number], ShownBasis>>>

export interface ProvedFamily {
  readonly name: string
  readonly parts: Readonly<Record<NetworkPart, Basis>>
  /** Parts that only some of its blocks prove: a root that does not match is no error; the part is then unverified. */
  readonly loose: readonly NetworkPart[]
  /** Transactions of unknown types are proved only by their raw bytes. */
  readonly types: TransactionTypes
  /** Fields of a header after `nonce`, in order, each with its form; absent: Ethereum's. */
  readonly headerFields?: Readonly<Record<string, 'integer' | 'bytes'>>
  /** Members of blocks besides the header, each with the field for the hash of its RLP; zero if it covers none. */
  readonly hashedMembers?: Readonly<Record<string, string>>
  /** A field of headers whose roots of state and receipts belong to earlier blocks. */
  readonly settlingField?: string
  /** Its state trie, if that differs from Ethereum's. */
  readonly trieForm?: TrieForm
  /** The rules of calls here, and the first block time for them; absent: no call runs here. */
  readonly runs?: { readonly fork: 'prague' | 'osaka'; readonly from: number }
  /** Features that differ from Ethereum's, at which a run ends. */
  readonly unjudged: Unjudged
  /** Methods passed to upstreams besides those of unverified parts: their gas or fees differ from Ethereum's. */
  readonly asked: readonly string[]
  /** Its own reading methods, in the form of `passThrough`. */
  readonly reads: readonly string[]
  /** Text before number and hash in the preimage of the hash of a block's last transaction, which no root covers. */
  readonly unrootedPrefix?: string
}

/** Features that an EVM with Ethereum's rules cannot execute correctly: a run that uses one ends. */
export interface Unjudged {
  readonly opcodes: ReadonlySet<number>
  /** Addresses, lower-case hex without 0x. */
  readonly addresses: ReadonlySet<string>
  /** Lower-case hex without 0x. */
  readonly codePrefix?: string
}

/** A public network's usual name, its family if that is not Ethereum, and the time between two of its blocks. */
export interface KnownName {
  readonly name: string
  readonly family: string | undefined
  readonly blockMs: number
}
