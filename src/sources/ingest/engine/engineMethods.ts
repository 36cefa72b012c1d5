/**
 * The methods of the Engine API by their names on the wire (execution-apis, src/engine). Each has parameters, versions,
 * forks, and the JSON of its answer.
 */
import { type ForkName, type ForkSchedule, includesFork } from '../../../data/chain/forks.js'
import { headOf } from '../../../data/chain/header.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { bytesToHex, type Hash32, toQuantity } from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import { version as programVersion } from '../../../primitives/version.js'
import type { BlockMaker } from '../develop/blockMaker.js'
import { type ForkRange, isWithin, type PayloadAttributes, readAttributes } from './attributes.js'
import { type BlobSidecar, blobJson, findBlobs } from './blobs.js'
import type { Engine, Forkchoice, PayloadStatus } from './engine.js'
import { EngineError, invalidParams } from './engineError.js'
import {
  type Json,
  readBytes,
  readHash,
  readList,
  readObject,
  readOptional,
  readQuantity,
} from './engineFields.js'
import { blockOfPayload, bodyJson, type Payload, type PayloadExtras, readPayload } from './payload.js'

/** Bodies of one request: go-ethereum's limit by range; the specification asks for 32 at least. */
const bodiesMax = 1_024
/** Blobs of one request: the least that the specification allows, and go-ethereum's limit. */
const blobsMax = 128

export interface EngineService {
  readonly engine: Engine
  readonly store: ChainWriter
  readonly schedule: ForkSchedule
  readonly maker: BlockMaker
}

type Params = readonly unknown[]
type EngineMethod = (service: EngineService, params: Params) => unknown

/** Members and parameters of each version of `newPayload`, and the forks of its payloads. */
interface PayloadVersion {
  /**
   * Forks whose payloads the method takes; if undefined, forks are not compared, because a payload of another fork has
   * another hash than it says.
   */
  readonly forks: ForkRange | undefined
  readonly parameters: number
  readonly hasBlobs: boolean
  readonly hasRequests: boolean
  readonly hasAccessList: boolean
}

const plain = { hasBlobs: false, hasRequests: false, hasAccessList: false }
const withBlobs = { ...plain, hasBlobs: true }
const payloadVersions: readonly PayloadVersion[] = [
  { forks: undefined, parameters: 1, ...plain },
  { forks: [undefined, 'cancun'], parameters: 1, ...plain },
  { forks: ['cancun', 'prague'], parameters: 3, ...withBlobs },
  { forks: ['prague', 'amsterdam'], parameters: 4, ...withBlobs, hasRequests: true },
  { forks: ['amsterdam', undefined], parameters: 4, hasBlobs: true, hasRequests: true, hasAccessList: true },
]

function newPayload(version: number): EngineMethod {
  const rules = payloadVersions[version - 1] as PayloadVersion
  return async ({ engine, schedule }, params) => {
    requireCount(params, rules.parameters, rules.parameters)
    const [first, hashes, root, requests] = params
    const payload = readPayload(first)
    const extras: PayloadExtras = {
      versionedHashes: rules.hasBlobs ? readList(hashes, 'expectedBlobVersionedHashes', readHash) : undefined,
      parentBeaconBlockRoot: rules.hasBlobs ? readHash(root, 'parentBeaconBlockRoot') : undefined,
      requests: rules.hasRequests ? readRequests(requests) : undefined,
    }
    const { number, timestamp } = payload.fields
    const fork = schedule.forkAt(Number(number), timestamp, true)
    checkMembers(payload, version, rules, fork)
    if (rules.forks !== undefined && !isWithin(fork, rules.forks))
      throw new EngineError('unsupportedFork', `engine_newPayloadV${version} is not for payloads of ${fork}`)
    const chainId = schedule.config.chainId
    return statusJson(await engine.newPayload(() => blockOfPayload(payload, extras, fork, chainId)))
  }
}

function checkMembers(
  { fields, withdrawals, blockAccessList }: Payload,
  version: number,
  rules: PayloadVersion,
  fork: ForkName,
): void {
  const members: readonly (readonly [name: string, value: unknown, isDue: boolean])[] = [
    // The second version is for blocks of Paris, too.
    ['withdrawals', withdrawals, version > 2 || (version === 2 && includesFork(fork, 'shanghai'))],
    ['blobGasUsed', fields.blobGasUsed, rules.hasBlobs],
    ['excessBlobGas', fields.excessBlobGas, rules.hasBlobs],
    ['slotNumber', fields.slotNumber, rules.hasAccessList],
    ['blockAccessList', blockAccessList, rules.hasAccessList],
  ]
  for (const [name, value, isDue] of members) {
    if ((value !== undefined) !== isDue)
      throw invalidParams(
        `${name} is ${isDue ? 'missing' : 'present'} in a payload of version ${version} at ${fork}`,
      )
  }
}

/** EIP-7685: each has a type and data, and types ascend. */
function readRequests(value: unknown): Uint8Array[] {
  const requests = readList(value, 'executionRequests', readBytes)
  for (const [index, request] of requests.entries()) {
    if (request.length < 2) throw invalidParams(`executionRequests[${index}] has no data`)
    const before = requests[index - 1]
    if (before !== undefined && (before[0] as number) >= (request[0] as number))
      throw invalidParams(`executionRequests[${index}] is not of a higher type than the one before`)
  }
  return requests
}

function forkchoiceUpdated(version: number): EngineMethod {
  return async ({ engine, schedule }, params) => {
    // From Amsterdam on, a consensus client may name the columns it keeps; there is no sampling here.
    requireCount(params, 1, version < 4 ? 2 : 3)
    const isDerived = schedule.family.execution?.openBlock !== undefined
    const choice = readForkchoice(params[0])
    const attributes = readOptional<PayloadAttributes>(params[1], 'payloadAttributes', (value) =>
      readAttributes(value, version, isDerived),
    )
    readOptional(params[2], 'custodyColumns', (value, name) => readBytes(value, name, 16))
    const status = await engine.choose(choice)
    const builds = attributes !== undefined && status.status === 'VALID'
    const payloadId = builds ? engine.build(choice.head as Hash32, attributes) : undefined
    return { payloadStatus: statusJson(status), payloadId: payloadId ?? null }
  }
}

function readForkchoice(value: unknown): Forkchoice {
  const json = readObject(value, 'forkchoiceState')
  const [head, safe, finalized] = ['headBlockHash', 'safeBlockHash', 'finalizedBlockHash'].map((name) => {
    const hash = readHash(json[name], name)
    return hash.every((byte) => byte === 0) ? undefined : hash
  })
  return { head, safe, finalized }
}

function statusJson({ status, latestValidHash, validationError }: PayloadStatus): Json {
  return {
    status,
    latestValidHash: latestValidHash === undefined ? null : bytesToHex(latestValidHash),
    validationError: validationError ?? null,
  }
}

function getPayload(version: number): EngineMethod {
  return ({ engine }, params) => {
    requireCount(params, 1, 1)
    return engine.builds.answer(version, readBytes(params[0], 'payloadId', 8))
  }
}

function bodiesByHash(version: number): EngineMethod {
  return (service, params) => {
    requireCount(params, 1, 1)
    const hashes = readList(params[0], 'blockHashes', readHash)
    if (hashes.length > bodiesMax)
      throw new EngineError('tooLarge', `at most ${bodiesMax} bodies are sent at once`)
    return hashes.map((hash) => storedBody(service, hash, version))
  }
}

function bodiesByRange(version: number): EngineMethod {
  return (service, params) => {
    requireCount(params, 2, 2)
    const start = readQuantity(params[0], 'start')
    const count = readQuantity(params[1], 'count')
    if (start === 0n || count === 0n) throw invalidParams('start and count are 1 at least')
    if (count > bodiesMax) throw new EngineError('tooLarge', `at most ${bodiesMax} bodies are sent at once`)
    const { number: last } = service.store.head
    const bodies: unknown[] = []
    for (let number = start; number < start + count && number <= last; number++) {
      const hash = service.store.readCanonicalHash(Number(number))
      bodies.push(hash === undefined ? null : storedBody(service, hash, version))
    }
    return bodies
  }
}

/** ExecutionPayloadBody of a stored block; null if it is not known, or no longer kept. */
function storedBody({ store }: EngineService, hash: Hash32, version: number): Json | null {
  const header = store.readHeader(hash)
  const body = store.readBody(hash)
  if (header === undefined || body === undefined) return null
  const json = bodyJson(header, body)
  if (version === 1) return { ...json }
  const list = store.readBlockAccessList(hash)
  return { ...json, blockAccessList: list === undefined ? null : bytesToHex(list) }
}

function getBlobs(version: number): EngineMethod {
  return ({ store, schedule, maker }, params) => {
    requireCount(params, 1, 1)
    const hashes = readList(params[0], 'blobVersionedHashes', readHash)
    const head = headOf(store)
    const isByCells = head !== undefined && includesFork(schedule.forkOf(head.header), 'osaka')
    if (version === 1 && isByCells)
      throw new EngineError('unsupportedFork', 'from Osaka on, blobs have proofs of cells')
    if (version > 1 && !isByCells) return null
    if (hashes.length > blobsMax)
      throw new EngineError('tooLarge', `at most ${blobsMax} blobs are sent at once`)
    const isOfVersion = ({ proofs }: BlobSidecar) => (proofs.length === 1) === (version === 1)
    const found = findBlobs(maker.waiting.all, hashes).map((blob) =>
      blob && isOfVersion(blob) ? blob : undefined,
    )
    if (version === 2 && found.includes(undefined)) return null
    return found.map((blob) => (blob === undefined ? null : blobJson(blob)))
  }
}

const clientVersion: EngineMethod = (_, params) => {
  requireCount(params, 1, 1)
  readObject(params[0], 'clientVersion')
  // The package does not know its commit.
  return [{ code: 'TG', name: 'Tidegate', version: `v${programVersion}`, commit: '0x00000000' }]
}

/** Total difficulty of a chain for which none is decided (paris.md). */
const undecidedTotal = 2n ** 256n - 2n ** 10n

/**
 * Consensus clients from before Cancun ask for it every minute. Another configuration is an error, as in go-ethereum:
 * the specification asks for one that the operator sees.
 */
const transitionConfiguration: EngineMethod = ({ schedule }, params) => {
  requireCount(params, 1, 1)
  const json = readObject(params[0], 'transitionConfiguration')
  const total = readQuantity(json.terminalTotalDifficulty, 'terminalTotalDifficulty', 256)
  const block = readHash(json.terminalBlockHash, 'terminalBlockHash')
  readQuantity(json.terminalBlockNumber, 'terminalBlockNumber')
  const own = schedule.config.terminalTotalDifficulty ?? undecidedTotal
  if (total !== own)
    throw new EngineError('server', `the terminal total difficulty is ${own} here, and ${total} there`)
  if (block.some((byte) => byte !== 0))
    throw new EngineError('server', `no terminal block is chosen here, and ${bytesToHex(block)} there`)
  return {
    terminalTotalDifficulty: toQuantity(own),
    terminalBlockHash: bytesToHex(block),
    terminalBlockNumber: '0x0',
  }
}

const capabilities: EngineMethod = (_, params) => {
  requireCount(params, 1, 1)
  readList(params[0], 'methods', (value, name) => {
    if (typeof value !== 'string') throw invalidParams(`${name}: expected a text`)
    return value
  })
  return [...engineMethods.keys()].filter((name) => name !== 'engine_exchangeCapabilities')
}

function versions(name: string, last: number, method: (version: number) => EngineMethod) {
  return Array.from({ length: last }, (_, index): readonly [string, EngineMethod] => [
    `engine_${name}V${index + 1}`,
    method(index + 1),
  ])
}

export const engineMethods: ReadonlyMap<string, EngineMethod> = new Map([
  ...versions('newPayload', 5, newPayload),
  ...versions('forkchoiceUpdated', 4, forkchoiceUpdated),
  ...versions('getPayload', 6, getPayload),
  ...versions('getPayloadBodiesByHash', 2, bodiesByHash),
  ...versions('getPayloadBodiesByRange', 2, bodiesByRange),
  ...versions('getBlobs', 3, getBlobs),
  ['engine_getClientVersionV1', clientVersion],
  ['engine_exchangeTransitionConfigurationV1', transitionConfiguration],
  ['engine_exchangeCapabilities', capabilities],
])

/** The result or error of a call as members of a JSON-RPC answer. Rejects only for a defect or an error of the store. */
export async function callEngine(service: EngineService, name: string, params: unknown): Promise<Json> {
  try {
    const method = engineMethods.get(name)
    if (method === undefined) throw new EngineError('methodNotFound', `there is no method ${name}`)
    if (!Array.isArray(params)) throw invalidParams('params: expected an array')
    return { result: await method(service, params) }
  } catch (error) {
    if (error instanceof EngineError) return { error: error.json }
    if (error instanceof OperatorError) return { error: new EngineError('server', error.message).json }
    throw error
  }
}

/** Optional parameters may be absent. */
function requireCount(params: Params, least: number, most: number): void {
  if (params.length >= least && params.length <= most) return
  const wanted = least === most ? String(least) : `${least} to ${most}`
  throw invalidParams(`expected ${wanted} parameters, got ${params.length}`)
}
