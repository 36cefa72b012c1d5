/**
 * Families of chains whose blocks are not executed here. Each is a spread of another family with what differs. Sources,
 * as of November 2026:
 *
 * - op-geth and the specifications of the OP Stack; celo-org's and mantlenetworkio's op-geth
 * - OffchainLabs' and scroll-tech's go-ethereum; docs.linea.build; docs.gnosischain.com
 * - bor and PIP-74; bnb-chain/bsc; coreth and ACP-194
 */
import { allParts, ethereum } from './ethereum.js'
import type { ChainFamily, FamilyCalls } from './family.js'
import { arbitrumTypes, celoTypes, mantleTypes, optimismTypes, scrollTypes } from './familyTypes.js'
import { optimism as executedOptimism } from './optimism/optimism.js'
import { superchainRules } from './optimism/superchain.js'

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

/** Proved as Ethereum's blocks are. */
const base: ChainFamily = withoutExecution(ethereum)

/** A family whose executed parts are only proved. */
function withoutExecution({ execution: _, parts, ...others }: ChainFamily): ChainFamily {
  const known = Object.entries(parts).map(([part, basis]) => [part, basis === 'executed' ? 'proved' : basis])
  return { ...others, parts: Object.fromEntries(known) as ChainFamily['parts'] }
}

function callsOf(more: Partial<FamilyCalls>): FamilyCalls {
  return { ...ethereum.calls, ...more }
}

const optimismParts: ChainFamily['parts'] = withoutExecution(executedOptimism).parts
const optimismReads: FamilyCalls['reads'] = ['optimism_*', 'rollup_*']

/**
 * A chain of the OP Stack. If its fork times are unknown, calls run by Ethereum's rules. Blocks are only proved in any
 * case, because a chain may have a fork that the known times lack.
 */
const optimism: ChainFamily = {
  ...base,
  parts: optimismParts,
  reportable: ['receipts'],
  transactionTypes: optimismTypes,
  calls: callsOf({
    reads: optimismReads,
    rules: { fork: 'prague', from: 1_746_806_401 },
    // Inputs of pairings and sums are limited, to different lengths at each fork.
    unknown: {
      opcodes: new Set([clz]),
      addresses: addresses([0x05, 0x05], [0x08, 0x08], [0x0b, 0x11], [0x100, 0x100]),
    },
  }),
  knownChain(chainId) {
    const rules = superchainRules(chainId)
    if (rules === undefined) return undefined
    const calls = callsOf({ reads: optimismReads, rules: { from: rules.from } })
    const family = { ...withoutExecution(executedOptimism), reportable: optimism.reportable, calls }
    return { family, config: rules.config }
  },
}

/** A chain of the OP Stack whose calls have rules of their own. */
const optimismWithoutCalls: ChainFamily = {
  ...base,
  parts: { ...optimismParts, calls: 'reported' },
  reportable: ['receipts'],
  transactionTypes: optimismTypes,
  calls: callsOf({ reads: optimismReads }),
}

const arbitrum: ChainFamily = {
  ...base,
  transactionTypes: arbitrumTypes,
  calls: {
    rules: { fork: 'prague', from: 1_767_830_400 },
    unknown: {
      // Numbers and hashes of blocks are those of the parent chain; Stylus code is WebAssembly.
      opcodes: new Set([clz, blockHash, number, prevRandao]),
      addresses: addresses([0x64, 0x74], [0xc8, 0xc9], [0xff, 0x100]),
      codePrefix: 'eff000',
    },
    asked: estimates,
    reads: ['arb_*', 'arbtrace_*', 'timeboost_*'],
  },
}

const polygon: ChainFamily = {
  ...base,
  // JSON lacks the payload of 0x7f; before Madhugiri a transaction of state sync was in no root.
  reportable: ['bodies', 'receipts'],
  proofs: { ...base.proofs, unrootedPrefix: 'matic-bor-receipt-' },
  calls: {
    rules: { fork: 'prague', from: 1_779_321_600 },
    unknown: { opcodes: new Set([clz, prevRandao]), addresses: addresses([0x100, 0x100]) },
    asked: [...estimates, ...searches],
    reads: ['bor_*', 'eth_getRootHash'],
  },
}

const bsc: ChainFamily = {
  ...base,
  calls: callsOf({
    rules: { fork: 'osaka', from: 1_777_343_400 },
    unknown: { opcodes: new Set([prevRandao]), addresses: addresses([0x64, 0x69]) },
    reads: [
      'eth_getFinalizedHeader',
      'eth_getFinalizedBlock',
      'eth_getBlobSidecars',
      'eth_getBlobSidecarByTxHash',
      'eth_getTransactionsByBlockNumber',
      'eth_getTransactionDataAndReceipt',
      'parlia_*',
    ],
  }),
}

const avalanche: ChainFamily = {
  ...base,
  // Since Helicon a header has the roots of blocks settled since its parent, and a bound for the base fee.
  parts: { ...base.parts, calls: 'reported' },
  reportable: ['receipts', 'state'],
  proofs: {
    ...base.proofs,
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
  },
  calls: callsOf({
    asked: ['eth_getProof', 'debug_storageRangeAt', ...searches],
    reads: ['avax_*', 'eth_baseFee', 'eth_suggestPriceOptions'],
  }),
}

const scroll: ChainFamily = {
  ...base,
  transactionTypes: scrollTypes,
  calls: {
    rules: { fork: 'prague', from: 1_766_041_200 },
    // This chain has only some of Osaka's rules.
    unknown: {
      opcodes: new Set([clz, prevRandao]),
      addresses: addresses([0x02, 0x03], [0x09, 0x11], [0x100, 0x100]),
    },
    asked: estimates,
    reads: ['scroll_*'],
  },
}

const linea: ChainFamily = {
  ...base,
  calls: callsOf({ rules: { fork: 'osaka', from: 1_764_720_000 }, reads: ['linea_*'] }),
}

const gnosis: ChainFamily = {
  ...base,
  calls: callsOf({
    rules: { fork: 'prague', from: 1_746_021_820 },
    unknown: { opcodes: new Set([clz]), addresses: addresses([0x100, 0x100]) },
  }),
}

const zksync: ChainFamily = {
  ...base,
  parts: allParts('reported'),
  calls: callsOf({ asked: searches, reads: ['zks_*'] }),
}

/** An unknown chain is proved as far as its blocks have Ethereum's form. */
const other: ChainFamily = {
  ...base,
  parts: { ...allParts('reported'), headers: 'proved', bodies: 'proved', receipts: 'proved' },
  reportable: ['headers', 'bodies', 'receipts', 'withdrawals'],
  calls: callsOf({ asked: searches }),
}

/** Families by their names in stores. */
export const provedFamilies: ReadonlyMap<string, ChainFamily> = new Map(
  Object.entries({
    optimism,
    // Tokens of Beryl are precompiled contracts without fixed addresses.
    base: { ...optimismWithoutCalls, reportable: ['bodies', 'receipts'] },
    // CELO is a token of a precompiled contract, and fees may be paid in other tokens. Older nodes omit `baseFee` from
    // receipts.
    celo: { ...optimismWithoutCalls, transactionTypes: celoTypes },
    mantle: { ...optimismWithoutCalls, transactionTypes: mantleTypes, reportable: ['bodies', 'receipts'] },
    arbitrum,
    polygon,
    bsc,
    avalanche,
    scroll,
    linea,
    gnosis,
    zksync,
    other,
  }),
)
