/**
 * Families of chains whose blocks are not executed here, a line or two each. Sources: op-geth and the specifications of
 * the OP Stack, OffchainLabs' go-ethereum, bor and PIP-74, bnb-chain/bsc, coreth and ACP-194, celo-org's and
 * mantlenetworkio's op-geth, scroll-tech's go-ethereum, docs.linea.build, docs.gnosischain.com; as of November 2026.
 */
import { transactionTypes } from '../../../primitives/transactionTypes.js'
import { type ChainIdentity, storeKindOf } from '../../store/chainRows.js'
import { forksUpToLondon } from '../forks.js'
import { arbitrumTypes, celoTypes, mantleTypes, optimismTypes, scrollTypes } from './familyTypes.js'
import {
  type Basis,
  type KnownName,
  type NetworkBasis,
  type NetworkPart,
  networkParts,
  type ProvedFamily,
  type ShownBasis,
  shownParts,
  type Unjudged,
} from './provedFamily.js'
import { provedNetworks } from './provedNetworks.js'

type Parts = ProvedFamily['parts']

const all = (basis: Basis) => Object.fromEntries(networkParts.map((part) => [part, basis])) as Parts
const proved = all('proved')
const executed = all('executed')
const reported = all('reported')

const nothing: Unjudged = { opcodes: new Set(), addresses: new Set() }
/** CLZ belongs to Osaka, of which chains adopt parts, such as P256VERIFY at 0x100. */
const clz = 0x1e
const blockHash = 0x40
const number = 0x43
const prevRandao = 0x44

/** Addresses of precompiled contracts from number `first` to `last`. */
function addresses(...ranges: readonly (readonly [first: number, last: number])[]): ReadonlySet<string> {
  const list = ranges.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, i) => first + i),
  )
  return new Set(list.map((each) => each.toString(16).padStart(40, '0')))
}

const estimates = ['eth_estimateGas', 'eth_createAccessList'] as const
/** Log searches, for chains whose blooms do not cover all logs. */
const searches = ['eth_getLogs', 'tidegate_getLogs', 'tidegate_getVerified'] as const

const base = {
  parts: proved,
  loose: [],
  types: transactionTypes,
  unjudged: nothing,
  asked: [],
  reads: [],
} satisfies Omit<ProvedFamily, 'name'>

const opReads = ['optimism_*', 'rollup_*']
/** The header's `withdrawalsRoot` is that of a contract's storage since Isthmus. */
const opParts: Parts = { ...proved, withdrawals: 'reported' }

const list: readonly ProvedFamily[] = [
  { ...base, name: 'ethereum', parts: executed },
  {
    ...base,
    name: 'optimism',
    parts: opParts,
    loose: ['receipts'],
    types: optimismTypes,
    reads: opReads,
    runs: { fork: 'prague', from: 1_746_806_401 },
    // Inputs of pairings and sums are limited, to different lengths at each fork.
    unjudged: {
      opcodes: new Set([clz]),
      addresses: addresses([0x05, 0x05], [0x08, 0x08], [0x0b, 0x11], [0x100, 0x100]),
    },
  },
  {
    ...base,
    name: 'base',
    // Tokens of Beryl are precompiled contracts without fixed addresses.
    parts: { ...opParts, calls: 'reported' },
    loose: ['bodies', 'receipts'],
    types: optimismTypes,
    reads: opReads,
  },
  {
    ...base,
    name: 'celo',
    // CELO is a token of a precompiled contract, and fees may be paid in other tokens.
    parts: { ...opParts, calls: 'reported' },
    // Older nodes omit `baseFee` from receipts.
    loose: ['receipts'],
    types: celoTypes,
    reads: opReads,
  },
  {
    ...base,
    name: 'mantle',
    parts: { ...opParts, calls: 'reported' },
    loose: ['bodies', 'receipts'],
    types: mantleTypes,
    reads: opReads,
  },
  {
    ...base,
    name: 'arbitrum',
    types: arbitrumTypes,
    runs: { fork: 'prague', from: 1_767_830_400 },
    unjudged: {
      // Numbers and hashes of blocks are those of the parent chain; Stylus code is WebAssembly.
      opcodes: new Set([clz, blockHash, number, prevRandao]),
      addresses: addresses([0x64, 0x74], [0xc8, 0xc9], [0xff, 0x100]),
      codePrefix: 'eff000',
    },
    asked: estimates,
    reads: ['arb_*', 'arbtrace_*', 'timeboost_*'],
  },
  {
    ...base,
    name: 'polygon',
    // JSON lacks the payload of 0x7f; before Madhugiri a transaction of state sync was in no root.
    loose: ['bodies', 'receipts'],
    runs: { fork: 'prague', from: 1_779_321_600 },
    unjudged: { opcodes: new Set([clz, prevRandao]), addresses: addresses([0x100, 0x100]) },
    asked: [...estimates, ...searches],
    reads: ['bor_*', 'eth_getRootHash'],
    unrootedPrefix: 'matic-bor-receipt-',
  },
  {
    ...base,
    name: 'bsc',
    runs: { fork: 'osaka', from: 1_777_343_400 },
    unjudged: { opcodes: new Set([prevRandao]), addresses: addresses([0x64, 0x69]) },
    reads: [
      ...[
        'eth_getFinalizedHeader',
        'eth_getFinalizedBlock',
        'eth_getBlobSidecars',
        'eth_getBlobSidecarByTxHash',
      ],
      ...['eth_getTransactionsByBlockNumber', 'eth_getTransactionDataAndReceipt', 'parlia_*'],
    ],
  },
  {
    ...base,
    name: 'avalanche',
    // Since Helicon a header has the roots of blocks settled since its parent, and a bound for the base fee.
    parts: { ...proved, calls: 'reported' },
    loose: ['receipts', 'state'],
    headerFields: {
      extDataHash: 'bytes',
      baseFeePerGas: 'integer',
      extDataGasUsed: 'integer',
      blockGasCost: 'integer',
      blobGasUsed: 'integer',
      excessBlobGas: 'integer',
      parentBeaconBlockRoot: 'bytes',
      timestampMilliseconds: 'integer',
      minDelayExcess: 'integer',
      targetExponent: 'integer',
      minPriceExponent: 'integer',
      settledHeight: 'integer',
      settledGasUnix: 'integer',
      settledGasNumerator: 'integer',
      settledExcess: 'integer',
    },
    hashedMembers: { blockExtraData: 'extDataHash' },
    settlingField: 'targetExponent',
    // The lowest bit of a key's first byte separates slots from multi-coin balances.
    trieForm: { accountItems: 5, slotMask: 0xfe },
    asked: ['eth_getProof', 'debug_storageRangeAt', ...searches],
    reads: ['avax_*', 'eth_baseFee', 'eth_suggestPriceOptions'],
  },
  {
    ...base,
    name: 'scroll',
    types: scrollTypes,
    runs: { fork: 'prague', from: 1_766_041_200 },
    // It has only some of Osaka's rules.
    unjudged: {
      opcodes: new Set([clz, prevRandao]),
      addresses: addresses([0x02, 0x03], [0x09, 0x11], [0x100, 0x100]),
    },
    asked: estimates,
    reads: ['scroll_*'],
  },
  { ...base, name: 'linea', runs: { fork: 'osaka', from: 1_764_720_000 }, reads: ['linea_*'] },
  {
    ...base,
    name: 'gnosis',
    runs: { fork: 'prague', from: 1_746_021_820 },
    unjudged: { opcodes: new Set([clz]), addresses: addresses([0x100, 0x100]) },
  },
  { ...base, name: 'zksync', parts: reported, asked: searches, reads: ['zks_*'] },
  // An unknown chain is proved as far as its blocks have Ethereum's form.
  {
    ...base,
    name: 'other',
    parts: { ...reported, headers: 'proved', bodies: 'proved', receipts: 'proved' },
    loose: ['headers', 'bodies', 'receipts', 'withdrawals'],
    asked: searches,
  },
]

const provedFamilies: ReadonlyMap<string, ProvedFamily> = new Map(list.map((family) => [family.name, family]))

export const provedFamilyNames: readonly string[] = [...provedFamilies.keys()]

export function provedFamilyOf({ family = 'ethereum' }: Pick<ChainIdentity, 'family'>): ProvedFamily {
  const found = provedFamilies.get(family)
  if (found === undefined) throw new Error(`the store is of a family of chains that is not known: ${family}`)
  return found
}

/** The verification of each part of a network, for `/health`, OpenRPC, the dashboard and docs/networks.md. */
export function basisOf(identity: Pick<ChainIdentity, 'family' | 'gateway' | 'history'>): NetworkBasis {
  const { state, hasReceipts } = storeKindOf(identity)
  if (state === 'none')
    return { headers: 'proved', transactions: 'proved', ...(hasReceipts && { receipts: 'proved' }) }
  if (state === 'whole') return Object.fromEntries(shownParts.map((part) => [part, 'executed']))
  const { parts, loose } = provedFamilyOf(identity)
  const shown = (part: NetworkPart): ShownBasis => {
    if (parts[part] === 'reported') return 'reported'
    return loose.includes(part) ? 'proved or reported' : 'proved'
  }
  return {
    headers: shown('headers'),
    transactions: shown('bodies'),
    receipts: shown('receipts'),
    state: shown('state'),
    // They run here, on proved state; a run that ends at a differing feature is passed to an upstream.
    calls: parts.calls === 'proved' ? 'executed or reported' : parts.calls,
  }
}

/** The family of a chain with this genesis `config`; undefined if no member names one. */
export function provedFamilyOfConfig(config: object): string | undefined {
  return configMembers.find(([member]) => member in config)?.[1]
}

/** Members found only in one family's `config`. Celo and Mantle are OP Stack, too. */
const configMembers: readonly (readonly [member: string, family: string])[] = [
  ...([
    ['arbitrum', 'arbitrum'],
    ['bor', 'polygon'],
    ['parlia', 'bsc'],
    ['scroll', 'scroll'],
  ] as const),
  ...([
    ['cel2Time', 'celo'],
    ['mantleSkadiTime', 'mantle'],
    ['apricotPhase1BlockTimestamp', 'avalanche'],
  ] as const),
  ...([
    ['optimism', 'optimism'],
    ['aura', 'gnosis'],
  ] as const),
]

export function provedNetworkOf(chainId: number): KnownName | undefined {
  const found = provedNetworks.find(([id]) => id === chainId)
  return found && { name: found[1], family: found[2], blockMs: found[3] }
}

/**
 * The identity of a chain of another family with first block `genesisHash`. Its `config` has the rules of calls, if
 * any.
 */
export function familyIdentity(chainId: string, genesisHash: string, name: string): ChainIdentity {
  const { runs, trieForm } = provedFamilyOf({ family: name })
  const config = {
    chainId: Number(chainId),
    ...forksUpToLondon,
    terminalTotalDifficulty: 0,
    shanghaiTime: 0,
    cancunTime: 0,
    pragueTime: 0,
    ...(runs?.fork === 'osaka' ? { osakaTime: 0 } : {}),
  }
  const identity = { chainId, networkId: chainId, genesisHash, config: JSON.stringify(config), family: name }
  return trieForm === undefined ? identity : { ...identity, trieForm }
}
