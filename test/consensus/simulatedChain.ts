/**
 * A beacon chain as light clients see it, with real BLS keys. 512 keys sign for each period, of which 16 are new.
 * States and bodies have only the parts that light clients get; the rest of their trees is zero.
 */
import { createHash } from 'node:crypto'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { hashPair, type SszType } from '../../src/data/ssz/types.js'
import {
  executionCapella,
  executionDeneb,
  lightClientTypes,
  type UpdateKind,
} from '../../src/sources/consensus/containers.js'
import {
  type BeaconBlockHeader,
  beaconBlockHeader,
  syncCommittee,
} from '../../src/sources/consensus/gloasForm.js'
import { signingRootOf } from '../../src/sources/consensus/lightClient.js'
import {
  type ConsensusNetwork,
  committeeSize,
  consensusForkNames,
  epochsPerPeriod,
  executionIndexAt,
  executionPayloadIndex,
  type FormName,
  formAt,
  periodAt,
  stateIndicesOf,
} from '../../src/sources/consensus/network.js'
import type { BeaconBody } from './beaconBody.js'
import { zeros } from './committees.js'

const { G1, longSignatures } = bls12_381
const { Fn } = G1.Point
const domain = 'BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_'

/** Keys of which each period's committee is another part. */
const keyCount = 1_024
const keysPerPeriod = 16

type Types = (typeof lightClientTypes)[FormName]
type CommitteeValue = ReturnType<typeof syncCommittee.read>

/** An answer of a beacon node: a value of the type of its form. */
export interface Sent {
  readonly form: FormName
  readonly ssz: Uint8Array
  /** The `data` member of an answer. */
  readonly json: unknown
}

export interface UpdateParts {
  readonly attested: number
  /** Slot of the signature; if absent, the one after the attested slot. */
  readonly signature?: number
  /** Number of the finalized block; if absent, none. */
  readonly finalized?: number
  readonly kind?: UpdateKind
  /** Number of signers; if absent, all sign. */
  readonly participants?: number
  /** Period of the signing committee; if absent, that of the signature. */
  readonly signedBy?: number
  /** Network by whose forks it is signed. */
  readonly signedFor?: ConsensusNetwork
}

/** Epochs of forks that cross all in a few periods, some in the middle of one. */
export const crossedEpochs: Readonly<Record<string, number>> = {
  genesis: 0,
  altair: 0,
  bellatrix: 0,
  capella: 0,
  deneb: epochsPerPeriod + 100,
  electra: 3 * epochsPerPeriod,
  fulu: 4 * epochsPerPeriod + 17,
  gloas: 5 * epochsPerPeriod + 200,
}

export function simulatedNetwork(genesisTime = 1_700_000_000, epochs = crossedEpochs): ConsensusNetwork {
  return {
    genesisTime,
    genesisValidatorsRoot: new Uint8Array(32).fill(0x5a),
    forks: consensusForkNames.flatMap((name, index) => {
      const epoch = epochs[name]
      return epoch === undefined ? [] : [{ name, epoch, version: Uint8Array.of(index, 0, 0, 0x77) }]
    }),
  }
}

/** Public keys of the secret keys 1,000,003, 1,000,004 and so on: each is the one before plus the generator. */
const secrets = Array.from({ length: keyCount }, (_, at) => 1_000_003n + BigInt(at))
const pubkeys = makeKeys()

function makeKeys(): Uint8Array[] {
  let point = G1.Point.BASE.multiply(secrets[0] as bigint)
  return secrets.map(() => {
    const key = point.toBytes()
    point = point.add(G1.Point.BASE)
    return key
  })
}

const indicesOf = (period: number) =>
  Array.from({ length: committeeSize }, (_, at) => (period * keysPerPeriod + at) % keyCount)

export class SimulatedChain {
  readonly network: ConsensusNetwork
  readonly #committees = new Map<number, CommitteeValue>()
  readonly #committeeRoots = new Map<number, Uint8Array>()
  /** Roots of the finalized blocks of states, by slot. */
  readonly #finalized = new Map<number, number>()
  /** Hash of the execution block that the beacon block of a slot names. */
  readonly executionHash: (slot: number) => Uint8Array
  readonly #bodyAt: (slot: number) => BeaconBody | undefined

  /**
   * `executionHash` is the hash of the execution block that the beacon block of a slot names; `bodyAt` its whole body,
   * where there is one.
   */
  constructor(
    network: ConsensusNetwork,
    executionHash = (slot: number): Uint8Array => createHash('sha256').update(`execution ${slot}`).digest(),
    bodyAt: (slot: number) => BeaconBody | undefined = () => undefined,
  ) {
    this.network = network
    this.executionHash = executionHash
    this.#bodyAt = bodyAt
  }

  /** Sets the finalized slot in the state of a slot; call it before any other use of that state. */
  finalize(slot: number, finalized: number): void {
    this.#finalized.set(slot, finalized)
  }

  committee(period: number): CommitteeValue {
    let value = this.#committees.get(period)
    if (value === undefined) {
      const indices = indicesOf(period)
      const sum = indices.reduce((total, at) => total + (secrets[at] as bigint), 0n)
      value = {
        pubkeys: indices.map((at) => pubkeys[at] as Uint8Array),
        aggregatePubkey: G1.Point.BASE.multiply(Fn.create(sum)).toBytes(),
      }
      this.#committees.set(period, value)
    }
    return value
  }

  root(slot: number): Uint8Array {
    return beaconBlockHeader.root(this.beacon(slot))
  }

  beacon(slot: number): BeaconBlockHeader {
    return {
      slot,
      proposerIndex: BigInt(slot % 100),
      parentRoot: this.#bodyAt(slot)?.parentRoot ?? new Uint8Array(32).fill(slot % 251),
      stateRoot: this.#state(slot).node(1),
      bodyRoot: this.#body(slot).node(1),
    }
  }

  /** The JSON of a whole beacon block; undefined where only its header is known. */
  block(slot: number): { readonly form: FormName; readonly message: unknown } | undefined {
    const body = this.#bodyAt(slot)
    if (body === undefined) return undefined
    const { bodyRoot, ...header } = this.beacon(slot)
    return { form: this.#formAt(slot), message: toJson({ ...header, body: body.value }) }
  }

  bootstrap(slot: number): Sent {
    const form = this.#formAt(slot)
    const { currentSyncCommittee } = stateIndicesOf[form]
    return sent(form, 'bootstrap', {
      header: this.#header(form, slot),
      currentSyncCommittee: this.committee(periodAt(slot)),
      currentSyncCommitteeBranch: this.#state(slot).branch(currentSyncCommittee),
    })
  }

  update(parts: UpdateParts): Sent {
    const { attested, finalized, kind = 'update', participants = committeeSize } = parts
    const { signature = attested + 1, signedFor = this.network } = parts
    if (finalized !== undefined) this.finalize(attested, finalized)
    const form = this.#formAt(attested)
    const state = this.#state(attested)
    const { finalizedRoot, nextSyncCommittee } = stateIndicesOf[form]
    const root = signingRootOf(signedFor, this.beacon(attested), signature)
    const nothing = finalized === undefined
    return sent(form, kind, {
      attestedHeader: this.#header(form, attested),
      nextSyncCommittee: this.committee(periodAt(attested) + 1),
      nextSyncCommitteeBranch: state.branch(nextSyncCommittee),
      finalizedHeader: nothing ? emptied(this.#header(form, attested)) : this.#header(form, finalized),
      finalityBranch: nothing
        ? state.branch(finalizedRoot).map(() => new Uint8Array(32))
        : state.branch(finalizedRoot),
      syncAggregate: sign(root, parts.signedBy ?? periodAt(signature), participants),
      signatureSlot: signature,
    })
  }

  #formAt(slot: number): FormName {
    return formAt(this.network, slot) as FormName
  }

  #state(slot: number): SparseTree {
    const indices = stateIndicesOf[this.#formAt(slot)]
    const finalized = this.#finalized.get(slot)
    const period = periodAt(slot)
    return new SparseTree([
      [indices.finalizedRoot, finalized === undefined ? new Uint8Array(32) : this.root(finalized)],
      [indices.currentSyncCommittee, this.#committeeRoot(period)],
      [indices.nextSyncCommittee, this.#committeeRoot(period + 1)],
    ])
  }

  #committeeRoot(period: number): Uint8Array {
    let root = this.#committeeRoots.get(period)
    if (root === undefined) {
      root = syncCommittee.root(this.committee(period))
      this.#committeeRoots.set(period, root)
    }
    return root
  }

  #body(slot: number): SparseTree {
    const form = this.#formAt(slot)
    if (form === 'gloas') {
      return new SparseTree([[executionIndexAt(this.network, slot) as number, this.executionHash(slot)]])
    }
    const leaves = this.#bodyAt(slot)?.leaves ?? [[executionPayloadIndex, this.#execution(form, slot).root]]
    return new SparseTree(leaves)
  }

  /** The execution header of a slot, its root, and the branch of its block's hash. */
  #execution(form: FormName, slot: number) {
    const named = { ...payload, blockHash: this.executionHash(slot), ...(form !== 'capella' && blobs) }
    const value = this.#bodyAt(slot)?.execution ?? named
    const type = form === 'capella' ? executionCapella : executionDeneb
    const root = type.root(value as never)
    return { value, root, branch: type.branchOf(value as never, 'blockHash') }
  }

  /** The header of a slot in the form of later data. */
  #header(form: FormName, slot: number): unknown {
    const own = this.#formAt(slot)
    const beacon = this.beacon(slot)
    const body = this.#body(slot)
    if (form !== 'gloas') {
      const { value } = this.#execution(own, slot)
      const execution = form === 'capella' ? value : { blobGasUsed: 0n, excessBlobGas: 0n, ...value }
      return { beacon, execution, executionBranch: body.branch(executionPayloadIndex) }
    }
    const executionBlockHash = this.executionHash(slot)
    if (own === 'gloas') {
      const index = executionIndexAt(this.network, slot) as number
      return { beacon, executionBlockHash, executionBranch: body.branch(index) }
    }
    const branch = [...this.#execution(own, slot).branch, ...body.branch(executionPayloadIndex)]
    return { beacon, executionBlockHash, executionBranch: [...zeros(11 - branch.length), ...branch] }
  }
}

/** The sum of the participants' secret keys makes the sum of their signatures. */
function sign(message: Uint8Array, period: number, participants: number) {
  const signers = indicesOf(period).slice(0, participants)
  const secret = Fn.create(signers.reduce((sum, at) => sum + (secrets[at] as bigint), 0n))
  const bits = new Uint8Array(committeeSize / 8)
  for (let at = 0; at < participants; at++) bits[at >> 3] = (bits[at >> 3] as number) | (1 << (at & 7))
  const point = longSignatures.hash(message, domain)
  const signature = participants === 0 ? new Uint8Array(96) : point.multiply(secret).toBytes()
  return { syncCommitteeBits: bits, syncCommitteeSignature: signature }
}

/** A Merkle tree with these leaves, by generalized index; all others are zero. */
class SparseTree {
  readonly #leaves: ReadonlyMap<number, Uint8Array>
  readonly #above = new Set<number>()

  constructor(leaves: readonly (readonly [gindex: number, leaf: Uint8Array])[]) {
    this.#leaves = new Map(leaves)
    for (const [gindex] of leaves) for (let at = gindex >> 1; at > 0; at >>= 1) this.#above.add(at)
  }

  node(gindex: number): Uint8Array {
    if (!this.#above.has(gindex)) return this.#leaves.get(gindex) ?? new Uint8Array(32)
    return hashPair(this.node(2 * gindex), this.node(2 * gindex + 1))
  }

  branch(gindex: number): Uint8Array[] {
    const branch: Uint8Array[] = []
    for (let at = gindex; at > 1; at >>= 1) branch.push(this.node(at ^ 1))
    return branch
  }
}

/** An empty value of the same form. */
function emptied(value: unknown, name = ''): unknown {
  if (value instanceof Uint8Array) return new Uint8Array(name === 'extraData' ? 0 : value.length)
  if (Array.isArray(value)) return value.map((each) => emptied(each))
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? 0n : 0
  return Object.fromEntries(Object.entries(value).map(([each, member]) => [each, emptied(member, each)]))
}

/** A value in the JSON form of the Beacon API. */
export function toJson(value: unknown): unknown {
  if (value instanceof Uint8Array) return `0x${Buffer.from(value).toString('hex')}`
  if (Array.isArray(value)) return value.map(toJson)
  if (typeof value !== 'object' || value === null) return String(value)
  const members = Object.entries(value).map(([name, member]) => {
    return [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), toJson(member)]
  })
  return Object.fromEntries(members)
}

function sent(form: FormName, kind: keyof Types, value: unknown): Sent {
  const type = lightClientTypes[form][kind] as unknown as SszType<unknown>
  const ssz = type.write(value)
  return { form, ssz, json: toJson(type.read(ssz)) }
}

const filled = (byte: number, length = 32) => new Uint8Array(length).fill(byte)
const payload = {
  parentHash: filled(1),
  feeRecipient: filled(2, 20),
  stateRoot: filled(3),
  receiptsRoot: filled(4),
  logsBloom: filled(5, 256),
  prevRandao: filled(6),
  blockNumber: 77n,
  gasLimit: 36_000_000n,
  gasUsed: 21_000n,
  timestamp: 1_700_000_000n,
  extraData: filled(8, 5),
  baseFeePerGas: 7n,
  blockHash: filled(11),
  transactionsRoot: filled(9),
  withdrawalsRoot: filled(10),
}
const blobs = { blobGasUsed: 131_072n, excessBlobGas: 5n }
