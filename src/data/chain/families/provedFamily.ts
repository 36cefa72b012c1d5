/**
 * What a chain is like that is not Ethereum: which of its parts a root covers, and in which form they are hashed. A
 * network's family is chosen once, by its identity; whoever checks a part asks the family how. Families that are
 * executed here differ from these by having rules of blocks; all others are lines of {@link provedFamilies}.
 */
import type { TrieForm } from '../../store/chainRows.js'

/**
 * How a part is known to be right: it was executed here; a hash or a Merkle proof covers it; or an upstream says so, or
 * as many of them as the quorum is.
 */
export type Basis = 'executed' | 'proved' | 'told'

/** Parts of a network of which each is known in its own way. */
export const networkParts = ['headers', 'bodies', 'receipts', 'withdrawals', 'state', 'calls'] as const
export type NetworkPart = (typeof networkParts)[number]

/** As it is shown: some blocks or calls of a part may be told where others are not. */
export type ShownBasis = Basis | 'proved or told' | 'executed or told'

/** Parts of a network as they are shown. */
export const shownParts = ['headers', 'transactions', 'receipts', 'state', 'calls'] as const

/** What a network lacks is absent. */
export type NetworkBasis = Readonly<Partial<Record<(typeof shownParts)[number], ShownBasis>>>

/**
 * How a field of a transaction stands in its RLP: an integer without leading zeros, bytes as they are, …; `optional` is an
 * integer that is left out where it is absent.
 */
export type OwnForm = 'integer' | 'bytes' | 'recipient' | 'accessList' | 'flag' | 'optional'

/** A type of transactions that Ethereum does not have. */
export interface OwnType {
  /** Members of its JSON in the order of its RLP, each with its form; of `a|b` the first that is there. */
  readonly fields: Readonly<Record<string, OwnForm>>
  /** Who sent it, where no field says so. */
  readonly sender?: string
  /** Whether yParity, r and s follow. */
  readonly isSigned?: true
  /** Integers of its receipt's RLP after the logs, by their names in JSON; one that is absent is left out. */
  readonly receiptFields?: readonly string[]
}

export interface ProvedFamily {
  readonly name: string
  readonly parts: Readonly<Record<NetworkPart, Basis>>
  /** Parts that some of its blocks prove and others do not: a root that does not fit is no lie, and the part is told. */
  readonly loose: readonly NetworkPart[]
  /** Types of transactions beside Ethereum's, by number. Of others only their raw bytes prove anything. */
  readonly types: ReadonlyMap<number, OwnType>
  /** Fields of a header after `nonce`, in order, with whether each is an integer; absent: Ethereum's. */
  readonly headerFields?: Readonly<Record<string, 'integer' | 'bytes'>>
  /** Members of blocks beside the header, each with the field that holds the hash of its RLP; zero where it covers none. */
  readonly hashedMembers?: Readonly<Record<string, string>>
  /** Field of headers whose roots of state and receipts are those of earlier blocks. */
  readonly settlingField?: string
  /** Its state trie, where that is not Ethereum's. */
  readonly trieForm?: TrieForm
  /** By which rules calls run here, and from which block time on these hold; absent: no call runs here. */
  readonly runs?: { readonly fork: 'prague' | 'osaka'; readonly from: number }
  /** What a run meets that is not Ethereum's. */
  readonly unjudged: Unjudged
  /** Methods that upstreams are asked besides those of told parts: its gas or fees are not Ethereum's. */
  readonly asked: readonly string[]
  /** Methods of its own that read, as `passThrough` has them. */
  readonly reads: readonly string[]
  /** Transaction at the end of a block that is in no root, and whose hash is that of this text, the number and the hash. */
  readonly unrootedPrefix?: string
}

/** What an EVM with Ethereum's rules may not judge: a run that touches one of these is given up. */
export interface Unjudged {
  readonly opcodes: ReadonlySet<number>
  /** Addresses, lower-case hex without 0x. */
  readonly addresses: ReadonlySet<string>
  /** Lower-case hex without 0x. */
  readonly codePrefix?: string
}

/** How people call a public network, its family where that is not Ethereum, and the time between two of its blocks. */
export interface KnownName {
  readonly name: string
  readonly family: string | undefined
  readonly blockMs: number
}
