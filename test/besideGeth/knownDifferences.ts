/**
 * Differences on purpose. The reason of each is a sentence of the page that lists it. A test compares both lists, so
 * that neither lacks an entry of the other.
 */
import type { Endpoint, Exchange } from './endpoint.js'

/** The answers without a difference; undefined if there is no such difference. It may ask geth again. */
type Even = (exchange: Exchange, geth: Endpoint) => Evened | Promise<Evened>
type Evened = Partial<Pick<Exchange, 'geth' | 'ours'>>

export interface KnownDifference {
  readonly page: 'correctness.md' | 'forks.md'
  /** Words of that page, exactly as written there. */
  readonly reason: string
  readonly methods: RegExp
  readonly even: Even
}

/** Differences under a consensus client, which `engineWalk.ts` recognises. Each is words of correctness.md. */
export const engineReasons = {
  early: 'It never remembers a block whose time is not above its parent’s.',
  number: 'It finds a parent by its hash and number, unless one of its caches has it.',
  forgotten:
    'It forgets an invalid block and its descendants at the 128th call about them, and one at random where 512 are remembered.',
} as const

type Json = Record<string, unknown>

/** A copy of a value in which every object, at any depth, is replaced. */
function mapObjects(value: unknown, map: (object: Json) => Json): unknown {
  if (Array.isArray(value)) return value.map((each) => mapObjects(each, map))
  if (typeof value !== 'object' || value === null) return value
  return map(Object.fromEntries(Object.entries(value).map(([key, each]) => [key, mapObjects(each, map)])))
}

/** Evens objects of our results. */
function oursBy(map: (object: Json) => Json): Even {
  return ({ ours }) => (ours.error === undefined ? { ours: { result: mapObjects(ours.result, map) } } : {})
}

/** Takes geth's answer for ours if `holds` is true. */
const takenWhere = (holds: (exchange: Exchange) => boolean): Even => {
  return (exchange) => (holds(exchange) ? { ours: exchange.geth } : {})
}

const isNamed =
  (...tags: readonly string[]) =>
  ({ question }: Exchange) =>
    question.params.some((param) => tags.includes(param as string))

/** geth has no safe and final block without a consensus client: an error, null for a header, nothing for raw bytes. */
const isUnknownToGeth = ({ geth, ours }: Exchange) =>
  (geth.error !== undefined || geth.result === null || geth.result === '0x') && ours.error === undefined

/** geth may have removed the state that a question needs. */
const isPruned = ({ geth, ours }: Exchange) =>
  /^(historical state \w+ is not available|missing trie node)/.test(geth.error?.message ?? '') &&
  ours.error === undefined

/** geth compares itself with its peers; without a consensus client it never catches up. */
const isSyncing = ({ geth, ours }: Exchange) => isObject(geth.result) && ours.result === false

const withoutTotal = ({ totalDifficulty: _, ...rest }: Json): Json => rest

const zeroHash = `0x${'0'.repeat(64)}`
/** Keccak-256 of nothing, and the root of an empty trie. */
const noCode = '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'
const noSlots = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'

/** go-ethereum's values for an absent signature. */
const madeUpChainId = '0x7fffffffffffffee'

const evenChainId: Even = ({ geth }) => {
  const even = ({ chainId, ...rest }: Json): Json =>
    chainId === undefined || chainId === madeUpChainId ? rest : { ...rest, chainId }
  return geth.error === undefined ? { geth: { result: mapObjects(geth.result, even) } } : {}
}

/** Receipts of proof-of-work blocks, without members that depend on the state between two messages. */
const evenOldReceipts: Even = ({ question, geth, ours }) => {
  const [{ validation }] = question.params as [{ validation?: boolean }]
  const [{ difficulty = '0x0' } = {}] = (geth.result ?? []) as Json[]
  if (validation === true || difficulty === '0x0') return {}
  const even = ({ receiptsRoot, hash, parentHash, blockHash, ...rest }: Json): Json => rest
  return { geth: { result: mapObjects(geth.result, even) }, ours: { result: mapObjects(ours.result, even) } }
}

/** Members that depend on a header: without them, blocks with and without a slot number are equal. */
const ofHeader = /^(hash|size|slotNumber|parentHash|blockHash|stateRoot|blockAccessListHash)$/

const evenSlotNumber: Even = ({ geth, ours }) => {
  const [theirs, own] = [geth.result ?? [], ours.result ?? []] as [Json[], Json[]]
  const lacks = theirs.some(
    ({ slotNumber }, at) => slotNumber === undefined && own[at]?.slotNumber !== undefined,
  )
  if (!lacks) return {}
  const even = (object: Json): Json =>
    Object.fromEntries(Object.entries(object).filter(([name]) => !ofHeader.test(name)))
  return { geth: { result: mapObjects(geth.result, even) }, ours: { result: mapObjects(ours.result, even) } }
}

/** Compares without the senders of transactions whose hash is in the answer twice. */
const evenSenders: Even = ({ geth, ours }) => {
  const hashes = JSON.stringify(geth.result ?? []).match(/"hash":"0x\w+"/g) ?? []
  const even = ({ from, ...rest }: Json): Json =>
    hashes.filter((hash) => hash === `"hash":"${rest.hash}"`).length > 1 || from === undefined
      ? rest
      : { ...rest, from }
  return { geth: { result: mapObjects(geth.result, even) }, ours: { result: mapObjects(ours.result, even) } }
}

/** Both answers without accounts that have only a balance and that geth counts as destroyed: its `post` lacks them. */
function withoutKept(geth: unknown, ours: unknown): [geth: unknown, ours: unknown] {
  if (!isObject(geth) || !isObject(ours)) return [geth, ours]
  if (!isObject(geth.post) || !isObject(ours.post)) {
    const parts = Object.keys(ours).map((key) => [key, withoutKept(geth[key], ours[key])] as const)
    const side = (at: 0 | 1) => Object.fromEntries(parts.map(([key, part]) => [key, part[at]]))
    return [
      { ...geth, ...side(0) },
      { ...ours, ...side(1) },
    ]
  }
  const [theirs, own] = [geth.post, ours.post]
  const pre = { ...(geth.pre as Json), ...(ours.pre as Json) }
  const isKept = (address: string) =>
    theirs[address] === undefined && `${Object.keys((own[address] ?? pre[address]) as Json)}` === 'balance'
  const drop = (part: unknown) =>
    Object.fromEntries(Object.entries(part as Json).filter(([address]) => !isKept(address)))
  const even = (side: Json) => ({ ...side, pre: drop(side.pre), post: drop(side.post) })
  return [even(geth), even(ours)]
}

const evenParityErrors: Even = ({ question, geth }) => {
  if (geth.error !== undefined || !JSON.stringify(question.params).includes('"convertParityErrors":true'))
    return {}
  const even = ({ error, ...rest }: Json): Json => {
    if (error === undefined) return rest
    return { ...rest, error: `${error}`.startsWith('max code size exceeded') ? 'Out of gas' : error }
  }
  return { geth: { result: mapObjects(geth.result, even) } }
}

const evenKept: Even = ({ question, geth, ours }) => {
  if (geth.error !== undefined || ours.error !== undefined) return {}
  if (!JSON.stringify(question.params).includes('"diffMode":true')) return {}
  const isList = Array.isArray(ours.result)
  const [theirs, own] = withoutKept(geth.result, ours.result)
  const result = (side: unknown) => ({ result: isList ? Object.values(side as Json) : side })
  return { geth: result(theirs), ours: result(own) }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null
}

const namingOpcodes = new Set(['CALL', 'CALLCODE', 'DELEGATECALL', 'STATICCALL', 'CREATE2', 'EXTCODEHASH'])

/** Removes accounts from geth's prestate that ours does not have, if geth met an invalid opcode. */
const evenPrestate: Even = async ({ question, geth, ours }, endpoint) => {
  const [message, block, options = {}] = question.params as [Json, unknown, Json?]
  const { tracer, tracerConfig: _, ...rest } = options
  if (tracer !== 'prestateTracer' || geth.error !== undefined || ours.error !== undefined) return {}
  const [trace] = await endpoint.answers([{ method: question.method, params: [message, block, rest] }])
  const { failed, structLogs } = (trace?.result ?? {}) as { failed?: boolean; structLogs?: Json[] }
  // An invalid opcode has no cost.
  if (failed !== true || !structLogs?.some(({ gasCost, op }) => gasCost === 0 && namingOpcodes.has(`${op}`)))
    return {}
  const own = Object.keys(ours.result as Json)
  const kept = Object.entries(geth.result as Json).filter(([address]) => own.includes(address))
  return { geth: { result: Object.fromEntries(kept) } }
}

/** Replaces geth's zeros by the hashes that they mean. */
const evenProof: Even = ({ geth }) => {
  const { codeHash, storageHash, ...rest } = (geth.result ?? {}) as Json
  if (codeHash !== zeroHash || storageHash !== zeroHash) return {}
  return { geth: { result: { ...rest, codeHash: noCode, storageHash: noSlots } } }
}

interface Witness {
  readonly state: readonly string[]
  readonly codes: readonly string[] | null
}

/**
 * Parts of a witness are sets. Ours may have more nodes; geth's has the root if nothing is read, and code that the
 * block itself sets.
 */
const evenWitness: Even = ({ geth, ours }) => {
  const [theirs, own] = [geth.result, ours.result] as Witness[]
  if (theirs?.state === undefined || own?.state === undefined) return {}
  const isIdle = own.state.length === 0 && theirs.state.length === 1
  const hasNodes = theirs.state.every((node) => own.state.includes(node))
  const hasCodes = (own.codes ?? []).every((code) => theirs.codes?.includes(code))
  if (!hasCodes || !(hasNodes || isIdle)) return {}
  return { geth: { result: { ...theirs, state: own.state, codes: own.codes } } }
}

/** Whether our estimate is enough by geth's own calls, and one less is not. */
const evenEstimate: Even = async (exchange, geth) => {
  const { question, ours } = exchange
  const [message, block, overrides] = question.params
  if (exchange.geth.error !== undefined || ours.error !== undefined) return {}
  const least = BigInt(ours.result as string)
  const [enough, tooLittle] = await geth.answers(
    [least, least - 1n].map((gas) => ({
      method: 'eth_call',
      params: [{ ...(message as Json), gas: `0x${gas.toString(16)}` }, block, overrides],
    })),
  )
  const holds = enough?.error === undefined && tooLittle?.error !== undefined
  return holds ? { ours: exchange.geth } : {}
}

/** Addresses of precompiled contracts are small numbers. */
const isPrecompiled = (address: string) => BigInt(address) > 0n && BigInt(address) <= 0x100n

/** Whether a state override gives code to a precompiled contract. */
function overridesPrecompile(overrides: unknown): boolean {
  return Object.keys((overrides ?? {}) as Json).some(isPrecompiled)
}

const namesPrecompiles = /^(4byteTracer|flatCallTracer|muxTracer)$/

export const knownDifferences: readonly KnownDifference[] = [
  {
    page: 'correctness.md',
    reason: 'A go-ethereum that is no archive node has removed the states of older blocks',
    methods: /^(eth|debug|trace)_/,
    even: takenWhere(isPruned),
  },
  {
    page: 'correctness.md',
    reason: "`eth_syncing` reports the progress of the network's source, not of peers.",
    methods: /^eth_syncing$/,
    even: takenWhere(isSyncing),
  },
  {
    page: 'correctness.md',
    reason: "go-ethereum's handler crashes where BLOBBASEFEE runs and a block override leads past Cancun",
    methods: /./,
    even: takenWhere(({ geth }) => geth.error?.message === 'method handler crashed'),
  },
  {
    page: 'correctness.md',
    reason: 'Blocks have `totalDifficulty`, which go-ethereum does not send.',
    methods: /^eth_/,
    even: oursBy(withoutTotal),
  },
  {
    page: 'correctness.md',
    reason:
      'Safe and finalized blocks follow the head by a fixed number of blocks (`safeLag`, `finalizedLag`), since there is no consensus client.',
    methods: /./,
    even: takenWhere((exchange) => isNamed('safe', 'finalized')(exchange) && isUnknownToGeth(exchange)),
  },
  {
    page: 'correctness.md',
    reason: 'The pending block is empty',
    methods: /^eth_get(BlockByNumber|Proof)$/,
    even: takenWhere(isNamed('pending')),
  },
  {
    page: 'correctness.md',
    reason: '`pending` means `latest` there and in the `debug_getRaw…` methods.',
    methods: /^(eth_getBlockReceipts|debug_getRaw\w+)$/,
    even: takenWhere(isNamed('pending')),
  },
  {
    page: 'correctness.md',
    reason: '`debug_getRawReceipts` of an unknown hash is null, not an empty list.',
    methods: /^debug_getRawReceipts$/,
    even: takenWhere(({ geth, ours }) => ours.result === null && (geth.result as unknown[])?.length === 0),
  },
  {
    page: 'correctness.md',
    reason:
      '`eth_getProof` of an account that does not exist has the hash of no code and the root of no slots',
    methods: /^eth_getProof$/,
    even: evenProof,
  },
  // This entry comes before those that remove hashes.
  {
    page: 'correctness.md',
    reason: 'Transactions with the same hash in one simulation have each its own sender',
    methods: /^eth_simulateV1$/,
    even: evenSenders,
  },
  {
    page: 'correctness.md',
    reason:
      'Before Spurious Dragon a simulated message without a price creates the account that gets its fees',
    methods: /^eth_simulateV1$/,
    even: evenOldReceipts,
  },
  {
    page: 'correctness.md',
    reason: 'Simulated blocks of Amsterdam on a block from before it have a `slotNumber`',
    methods: /^eth_simulateV1$/,
    even: evenSlotNumber,
  },
  {
    page: 'correctness.md',
    reason: 'an unsigned legacy transaction has no `chainId`',
    methods: /^eth_simulateV1$/,
    even: evenChainId,
  },
  {
    page: 'correctness.md',
    reason: 'Its witnesses have the nodes which prove that an account is absent',
    methods: /^debug_executionWitness$/,
    even: evenWitness,
  },
  {
    page: 'correctness.md',
    reason:
      'The suggested tip of a chain with few transactions depends in go-ethereum on which of its threads come first.',
    methods: /^eth_(gasPrice|maxPriorityFeePerGas)$/,
    even: takenWhere(() => true),
  },
  {
    page: 'correctness.md',
    reason:
      'In estimates a state override of a precompiled contract takes its place, as in calls; go-ethereum runs the precompiled one.',
    methods: /^eth_estimateGas$/,
    even: takenWhere(({ question: { params } }) => overridesPrecompile(params[2])),
  },
  {
    page: 'correctness.md',
    reason: 'What an opcode names that is no instruction of the fork yet is not in a prestate.',
    methods: /^debug_traceCall$/,
    even: evenPrestate,
  },
  {
    page: 'correctness.md',
    reason:
      'In Amsterdam, a contract may be created and destroyed in one transaction and keep a balance (EIP-8246).',
    methods: /^debug_trace/,
    even: evenKept,
  },
  {
    page: 'correctness.md',
    reason: 'With `convertParityErrors` too long code is `Out of gas`',
    methods: /^debug_trace/,
    even: evenParityErrors,
  },
  {
    page: 'correctness.md',
    reason: 'Tracers take an overridden precompiled contract for a contract.',
    methods: /^debug_traceCall$/,
    even: takenWhere(({ question: { params } }) => {
      const { tracer, stateOverrides } = (params[2] ?? {}) as { tracer?: string; stateOverrides?: object }
      return namesPrecompiles.test(tracer ?? '') && overridesPrecompile(stateOverrides)
    }),
  },
  {
    page: 'correctness.md',
    reason: 'An estimate is a least gas found by bisection',
    methods: /^eth_estimateGas$/,
    even: evenEstimate,
  },
]
