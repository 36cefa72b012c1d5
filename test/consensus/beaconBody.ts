/**
 * Bodies of beacon blocks around execution payloads, by the specification of Electra, which Fulu did not change. All else
 * in them is empty. Owns the types that a body has besides those of light clients; they have roots alone.
 */
import { byteList, byteVector, container, hashPair, type SszType, uint } from '../../src/data/ssz/types.js'
import { hexToBytes } from '../../src/primitives/bytes.js'
import { executionDeneb } from '../../src/sources/consensus/containers.js'
import { bytes32, syncAggregate } from '../../src/sources/consensus/gloasForm.js'
import type { MadeBlock } from '../ingest/chainMaker.js'
import { payloadOf } from '../ingest/payloads.js'

/** `List[element, 2 ** depth]`, of which only the root is made. */
function list<T>(element: SszType<T>, depth: number): SszType<readonly T[]> {
  const refuse = () => {
    throw new Error('a list of tests has no bytes')
  }
  return {
    size: undefined,
    read: refuse,
    write: refuse,
    fromJson: refuse,
    root(values) {
      let level = values.map((each) => element.root(each))
      let zero: Uint8Array = new Uint8Array(32)
      for (let height = 0; height < depth; height++) {
        const above: Uint8Array[] = []
        for (let at = 0; at < level.length; at += 2)
          above.push(hashPair(level[at] as Uint8Array, level[at + 1] ?? zero))
        zero = hashPair(zero, zero)
        level = above
      }
      return hashPair(level[0] ?? zero, uint(8).root(BigInt(values.length)))
    },
  }
}

const uint64 = uint(8)
const transactions = list(byteList(2 ** 30), 20)
const withdrawal = container({
  index: uint64,
  validatorIndex: uint64,
  address: byteVector(20),
  amount: uint64,
})
const withdrawals = list(withdrawal, 4)
const eth1Data = container({ depositRoot: bytes32, depositCount: uint64, blockHash: bytes32 })
/** Type of a list without elements. The root of an empty list does not depend on the type of its elements. */
const empty = (depth: number) => list(bytes32, depth)
const executionRequests = container({ deposits: empty(13), withdrawals: empty(4), consolidations: empty(1) })
/** `BeaconBlockBody`, with the header of the payload, whose root is that of the payload. */
const bodyFields = {
  randaoReveal: byteVector(96),
  eth1Data,
  graffiti: bytes32,
  proposerSlashings: empty(4),
  attesterSlashings: empty(0),
  attestations: empty(3),
  deposits: empty(4),
  voluntaryExits: empty(4),
  syncAggregate,
  executionPayload: executionDeneb,
  blsToExecutionChanges: empty(4),
  blobKzgCommitments: empty(12),
  executionRequests,
}
/** A body has up to 16 members, of which this is the first one's generalized index; leaves without one are zero. */
const firstLeaf = 16

export interface BeaconBody {
  /** Root of the beacon block before it. */
  readonly parentRoot: Uint8Array
  /** The payload's header. */
  readonly execution: ReturnType<typeof executionDeneb.read>
  /** Leaves of its tree by generalized index. */
  readonly leaves: readonly (readonly [gindex: number, leaf: Uint8Array])[]
  /** Its value, with the whole payload. */
  readonly value: unknown
}

/** The body of a beacon block on `parentRoot` with this execution block, which has no blobs and no requests. */
export function beaconBodyOf(made: MadeBlock, parentRoot: Uint8Array): BeaconBody {
  const json = payloadOf(made)
  const bytes = (name: string) => hexToBytes(json[name] as string)
  const whole = (name: string) => BigInt(json[name] as string)
  const lists = {
    transactions: (json.transactions as readonly string[]).map(hexToBytes),
    withdrawals: (json.withdrawals as readonly Record<string, string>[]).map((each) => ({
      index: BigInt(each.index as string),
      validatorIndex: BigInt(each.validatorIndex as string),
      address: hexToBytes(each.address as string),
      amount: BigInt(each.amount as string),
    })),
  }
  const members = {
    parentHash: bytes('parentHash'),
    feeRecipient: bytes('feeRecipient'),
    stateRoot: bytes('stateRoot'),
    receiptsRoot: bytes('receiptsRoot'),
    logsBloom: bytes('logsBloom'),
    prevRandao: bytes('prevRandao'),
    blockNumber: whole('blockNumber'),
    gasLimit: whole('gasLimit'),
    gasUsed: whole('gasUsed'),
    timestamp: whole('timestamp'),
    extraData: bytes('extraData'),
    baseFeePerGas: whole('baseFeePerGas'),
    blockHash: bytes('blockHash'),
    blobGasUsed: whole('blobGasUsed'),
    excessBlobGas: whole('excessBlobGas'),
  }
  const execution = {
    ...members,
    transactionsRoot: transactions.root(lists.transactions),
    withdrawalsRoot: withdrawals.root(lists.withdrawals),
  }
  const zeros = (length: number) => new Uint8Array(length)
  const value = {
    randaoReveal: zeros(96),
    eth1Data: { depositRoot: zeros(32), depositCount: 0n, blockHash: zeros(32) },
    graffiti: zeros(32),
    proposerSlashings: [],
    attesterSlashings: [],
    attestations: [],
    deposits: [],
    voluntaryExits: [],
    syncAggregate: { syncCommitteeBits: zeros(64), syncCommitteeSignature: zeros(96) },
    executionPayload: execution,
    blsToExecutionChanges: [],
    blobKzgCommitments: [],
    executionRequests: { deposits: [], withdrawals: [], consolidations: [] },
  }
  const types = Object.entries(bodyFields) as [keyof typeof value, SszType<unknown>][]
  const roots = types.map(([name, type]) => type.root(value[name]))
  return {
    parentRoot,
    execution,
    leaves: Array.from({ length: firstLeaf }, (_, at) => [firstLeaf + at, roots[at] ?? zeros(32)]),
    value: { ...value, executionPayload: { ...members, ...lists } },
  }
}
