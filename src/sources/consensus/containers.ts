/**
 * Light client messages in the forms of Capella, Deneb, Electra (and Fulu) and Gloas. All are read into the form of
 * Gloas, to which the specification upgrades the others (gloas/light-client/fork.md).
 */
import {
  byteList,
  byteVector,
  container,
  integer,
  SszError,
  type SszType,
  uint,
  vector,
} from '../../data/ssz/types.js'
import {
  type BeaconBlockHeader,
  beaconBlockHeader,
  bytes32,
  committeeOf,
  executionBranchLength,
  headerGloas,
  isEmpty,
  isZero,
  type LightClientBootstrap,
  type LightClientHeader,
  type LightClientUpdate,
  type SyncAggregate,
  syncAggregate,
  syncCommittee,
} from './gloasForm.js'
import {
  branchDepth,
  type ConsensusNetwork,
  executionPayloadIndex,
  type FormName,
  formAt,
  formNames,
  stateIndicesOf,
} from './network.js'

const uint64 = uint(8)

const payloadCapella = {
  parentHash: bytes32,
  feeRecipient: byteVector(20),
  stateRoot: bytes32,
  receiptsRoot: bytes32,
  logsBloom: byteVector(256),
  prevRandao: bytes32,
  blockNumber: uint64,
  gasLimit: uint64,
  gasUsed: uint64,
  timestamp: uint64,
  extraData: byteList(32),
  baseFeePerGas: uint(32),
  blockHash: bytes32,
  transactionsRoot: bytes32,
  withdrawalsRoot: bytes32,
}
/** `ExecutionPayloadHeader` up to Capella, and from Deneb on. */
export const executionCapella = container(payloadCapella)
export const executionDeneb = container({ ...payloadCapella, blobGasUsed: uint64, excessBlobGas: uint64 })

const payloadBranch = vector(bytes32, branchDepth(executionPayloadIndex))
const headerCapella = container({
  beacon: beaconBlockHeader,
  execution: executionCapella,
  executionBranch: payloadBranch,
})
const headerDeneb = container({
  beacon: beaconBlockHeader,
  execution: executionDeneb,
  executionBranch: payloadBranch,
})
type Header = typeof headerCapella | typeof headerDeneb | typeof headerGloas
type RawHeader = ReturnType<Header['read']>

function formTypes(form: FormName) {
  const headers = { capella: headerCapella, deneb: headerDeneb, electra: headerDeneb, gloas: headerGloas }
  const header = headers[form] as unknown as SszType<RawHeader>
  const indices = stateIndicesOf[form]
  const branchOf = (gindex: number) => vector(bytes32, branchDepth(gindex))
  const signed = { syncAggregate, signatureSlot: integer }
  const finality = { finalizedHeader: header, finalityBranch: branchOf(indices.finalizedRoot) }
  return {
    bootstrap: container({
      header,
      currentSyncCommittee: syncCommittee,
      currentSyncCommitteeBranch: branchOf(indices.currentSyncCommittee),
    }),
    update: container({
      attestedHeader: header,
      nextSyncCommittee: syncCommittee,
      nextSyncCommitteeBranch: branchOf(indices.nextSyncCommittee),
      ...finality,
      ...signed,
    }),
    finalityUpdate: container({ attestedHeader: header, ...finality, ...signed }),
    optimisticUpdate: container({ attestedHeader: header, ...signed }),
  }
}

/** The types of each form, by the specification of its fork. */
export const lightClientTypes: Readonly<Record<FormName, ReturnType<typeof formTypes>>> = {
  capella: formTypes('capella'),
  deneb: formTypes('deneb'),
  electra: formTypes('electra'),
  gloas: formTypes('gloas'),
}

export type UpdateKind = 'update' | 'finalityUpdate' | 'optimisticUpdate'

interface RawUpdate {
  readonly attestedHeader: RawHeader
  readonly nextSyncCommittee?: ReturnType<typeof syncCommittee.read>
  readonly nextSyncCommitteeBranch?: readonly Uint8Array[]
  readonly finalizedHeader?: RawHeader
  readonly finalityBranch?: readonly Uint8Array[]
  readonly syncAggregate: SyncAggregate
  readonly signatureSlot: number
}

/** A message of a Beacon API: SSZ, or parsed JSON. */
export type Encoded = Uint8Array | { readonly json: unknown }

/**
 * Reads an update of any kind and form. The slot of its attested header determines the form, so no other information is
 * needed. Throws {@link SszError}.
 */
export function readUpdate(network: ConsensusNetwork, kind: UpdateKind, encoded: Encoded): LightClientUpdate {
  const raw = readForm<RawUpdate>(
    network,
    (form) => lightClientTypes[form][kind] as unknown as SszType<RawUpdate>,
    encoded,
    ({ attestedHeader }) => attestedHeader.beacon.slot,
  )
  const { attestedHeader, nextSyncCommittee, nextSyncCommitteeBranch, finalizedHeader, finalityBranch } = raw
  return {
    attestedHeader: upgradeHeader(network, attestedHeader),
    syncAggregate: raw.syncAggregate,
    signatureSlot: raw.signatureSlot,
    next: optional(nextSyncCommittee, nextSyncCommitteeBranch, 'nextSyncCommittee', (value, branch) => {
      return { committee: committeeOf(value), branch }
    }),
    finality: optional(finalizedHeader, finalityBranch, 'finalizedHeader', (value, branch) => {
      return { header: upgradeHeader(network, value), branch }
    }),
  }
}

/** Like {@link readUpdate}. */
export function readBootstrap(network: ConsensusNetwork, encoded: Encoded): LightClientBootstrap {
  const raw = readForm(
    network,
    (form) => lightClientTypes[form].bootstrap,
    encoded,
    ({ header }) => header.beacon.slot,
  )
  return {
    header: upgradeHeader(network, raw.header),
    committee: committeeOf(raw.currentSyncCommittee),
    committeeBranch: raw.currentSyncCommitteeBranch,
  }
}

function readForm<T>(
  network: ConsensusNetwork,
  typeOf: (form: FormName) => SszType<T>,
  encoded: Encoded,
  slotOf: (value: T) => number,
): T {
  let why = 'it is of no known fork'
  for (const form of formNames) {
    try {
      const value =
        encoded instanceof Uint8Array ? typeOf(form).read(encoded) : typeOf(form).fromJson(encoded.json)
      if (formAt(network, slotOf(value)) === form) return value
    } catch (error) {
      if (!(error instanceof SszError)) throw error
      why = error.message
    }
  }
  throw new SszError(why)
}

/** A part is absent if its branch is all zeros; then its value must be empty. */
function optional<V, T>(
  value: V | undefined,
  branch: readonly Uint8Array[] | undefined,
  name: string,
  read: (value: V, branch: readonly Uint8Array[]) => T,
): T | undefined {
  if (value === undefined || branch === undefined) return undefined
  if (branch.every(isZero)) {
    if (!isEmpty(value)) throw new SszError(`${name}: a value without a branch`)
    return undefined
  }
  return read(value, branch)
}

const emptyBranch: readonly Uint8Array[] = Array.from(
  { length: executionBranchLength },
  () => new Uint8Array(32),
)

/** The header of a block before Capella, or an absent header. */
function emptyHeader(beacon: BeaconBlockHeader): LightClientHeader {
  return { beacon, executionBlockHash: new Uint8Array(32), executionBranch: emptyBranch }
}

/** `upgrade_lc_header_to_gloas`. Throws {@link SszError} for a header with fields that its fork does not have. */
function upgradeHeader(network: ConsensusNetwork, header: RawHeader): LightClientHeader {
  if (!('execution' in header)) return header
  const { beacon, execution } = header
  if (isEmpty(header)) return emptyHeader(beacon)
  const form = formAt(network, beacon.slot)
  if (form === undefined) {
    if (!isEmpty(execution) || !isEmpty(header.executionBranch))
      throw new SszError('execution: before Capella')
    return emptyHeader(beacon)
  }
  let inner: Uint8Array[]
  if (form === 'capella') {
    const { blobGasUsed, excessBlobGas } = execution as {
      readonly blobGasUsed?: bigint
      readonly excessBlobGas?: bigint
    }
    if ((blobGasUsed ?? 0n) !== 0n || (excessBlobGas ?? 0n) !== 0n) throw new SszError('blobs before Deneb')
    inner = executionCapella.branchOf(execution, 'blockHash')
  } else if ('blobGasUsed' in execution) inner = executionDeneb.branchOf(execution, 'blockHash')
  else throw new SszError('execution: of an earlier fork')
  const branch = [...inner, ...header.executionBranch]
  return {
    beacon,
    executionBlockHash: execution.blockHash,
    executionBranch: [...emptyBranch.slice(branch.length), ...branch],
  }
}
