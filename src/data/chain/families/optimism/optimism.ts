/**
 * The OP Stack, from Bedrock to Karst (specs.optimism.io): OP Mainnet and all chains with the member `optimism` in
 * their genesis `config`. Fees are in fees.ts, deposits in deposits.ts.
 */
import { bytesToBigInt, hexToBytes } from '../../../../primitives/bytes.js'
import { emptyTrieRoot } from '../../../../primitives/keccak.js'
import { decodeRlpList, encodeRlp } from '../../../../primitives/rlp.js'
import { depositType, transactionTypes } from '../../../../primitives/transactionTypes.js'
import type { PrecompileRules } from '../../executionRules.js'
import { changeBaseFee } from '../../feeMarket.js'
import {
  type ChainConfig,
  type ForkName,
  forkNames,
  includesFork,
  isRecord,
  toBigInteger,
} from '../../forkNames.js'
import type { Header } from '../../header.js'
import { gasLimitMax } from '../../intrinsicGas.js'
import { allParts, executedCalls } from '../ethereum.js'
import type { ChainFamily, FamilyConfig, HeaderRules } from '../family.js'
import { create2Deployer, create2DeployerCode } from './create2Deployer.js'
import { refuseOrder } from './deposits.js'
import {
  baseFeeVault,
  daFootprint,
  dataBytes,
  feesOf,
  receiptForms,
  receiptMembers,
  suggestTip,
} from './fees.js'
import { optimismForks } from './forks.js'
import { openBlock } from './madeBlocks.js'

const ownForks = Object.keys(optimismForks) as (keyof typeof optimismForks)[]
const byTime = ownForks.slice(ownForks.indexOf('regolith'))
const parameterNames = ['eip1559Elasticity', 'eip1559Denominator', 'eip1559DenominatorCanyon'] as const
/** Forks of Ethereum that activate with its own: `config` has the same time for both, and may omit Osaka. */
const together = { shanghai: 'canyon', cancun: 'ecotone', prague: 'isthmus', osaka: 'karst' } as const

const config: FamilyConfig = {
  isOf: (members) => members.optimism !== undefined && members.optimism !== null,
  blocks: new Map([['bedrockBlock', 'bedrock']]),
  times: new Map(byTime.map((fork) => [`${fork}Time`, fork])),
  others: new Set(['optimism']),
  complete: (parsed, { optimism: members }) => {
    if (!isRecord(members)) throw new RangeError('config.optimism: expected an object')
    if (parsed.blocks.get('bedrock') === undefined) throw new RangeError('config.bedrockBlock is missing')
    for (const [fork, own] of Object.entries(together) as [ForkName, ForkName][]) {
      const theirs = parsed.times.get(fork)
      const ours = parsed.times.get(own)
      if (theirs === ours || (fork === 'osaka' && theirs === undefined)) continue
      throw new RangeError(
        `config.${fork}Time is ${theirs ?? 'missing'}, and config.${own}Time ${ours ?? 'is'}`,
      )
    }
    const late = [...parsed.times.keys()].find((fork) => !includesFork('karst', fork))
    if (late !== undefined) throw new RangeError(`config.${late}Time: the OP Stack has no such fork`)
    const parameters = Object.fromEntries(
      parameterNames.map((name) => {
        const value = toBigInteger(
          members[name] ?? (name.endsWith('Canyon') ? 250 : undefined),
          `config.optimism.${name}`,
        )
        if (value === 0n) throw new RangeError(`config.optimism.${name}: must not be zero`)
        return [name, value]
      }),
    )
    // There are no blobs, and blob gas has the minimum price.
    const noBlobs = { target: 0, max: 0, baseFeeUpdateFraction: 1n }
    return { ...parsed, parameters, blobSchedule: new Map([['cancun', noBlobs]]) }
  },
}

/** Parameters of the next block's base fee, from Holocene's and Jovian's extra data. */
function feeRulesOf(extraData: Uint8Array) {
  const at = (start: number, end: number) => bytesToBigInt(extraData.subarray(start, end))
  return { denominator: at(1, 5), elasticity: at(5, 9), baseFeeMin: at(9, 17) }
}

/** Undefined if the extra data has no parameters, as in some genesis blocks: then the config's apply. */
function reportedRules(extraData: Uint8Array) {
  const rules = feeRulesOf(extraData)
  const isWhole = extraData.length === 9 || extraData.length === 17
  return isWhole && rules.denominator > 0n && rules.elasticity > 0n ? rules : undefined
}

function isSince({ times }: ChainConfig, fork: ForkName, timestamp: number | bigint): boolean {
  const since = times.get(fork)
  return since !== undefined && timestamp >= since
}

const nextBaseFee: HeaderRules['nextBaseFee'] = (parent, { timestamp, config }) => {
  const { eip1559Elasticity, eip1559Denominator, eip1559DenominatorCanyon } = config.parameters as Record<
    (typeof parameterNames)[number],
    bigint
  >
  const canyon = isSince(config, 'canyon', timestamp) ? eip1559DenominatorCanyon : eip1559Denominator
  const reported = isSince(config, 'holocene', parent.timestamp) ? reportedRules(parent.extraData) : undefined
  const { denominator, elasticity } = reported ?? { denominator: canyon, elasticity: eip1559Elasticity }
  const footprint = isSince(config, 'jovian', parent.timestamp) ? (parent.blobGasUsed ?? 0n) : 0n
  const used = footprint > parent.gasUsed ? footprint : parent.gasUsed
  const next = changeBaseFee(parent, used, elasticity, denominator)
  const least = reported?.baseFeeMin ?? 0n
  return next > least ? next : least
}

/** Length of the extra data, and its first byte; undefined before Holocene. */
function extraDataForm(fork: ForkName): readonly [bytes: number, version: number] | undefined {
  if (includesFork(fork, 'jovian')) return [17, 1]
  return includesFork(fork, 'holocene') ? [9, 0] : undefined
}

/** Extra data of a child of a block with these rules. */
function nextExtraData(parent: Header, fork: ForkName, { parameters }: ChainConfig): Uint8Array {
  const form = extraDataForm(fork)
  const extraData = new Uint8Array(form?.[0] ?? 0)
  if (form === undefined) return extraData
  if (reportedRules(parent.extraData) !== undefined) {
    extraData.set(parent.extraData.subarray(0, extraData.length))
  } else {
    const view = new DataView(extraData.buffer)
    view.setUint32(1, Number(parameters.eip1559DenominatorCanyon))
    view.setUint32(5, Number(parameters.eip1559Elasticity))
  }
  extraData[0] = form[1]
  return extraData
}

const check: HeaderRules['check'] = (header, parent, child, must) => {
  const { extraData, gasLimit, baseFeePerGas, blobGasUsed, excessBlobGas } = header
  const form = extraDataForm(child.fork)
  const bytes = form?.[0] ?? 0
  must(extraData.length === bytes, 'extraData', `${extraData.length} bytes`, `${bytes} bytes`)
  if (form !== undefined) {
    must(extraData[0] === form[1], 'extraData', `of version ${extraData[0]}`, `version ${form[1]}`)
    const { denominator, elasticity } = feeRulesOf(extraData)
    must(denominator > 0n, 'extraData', 'a denominator of 0', 'more')
    must(elasticity > 0n, 'extraData', 'an elasticity of 0', 'more')
  }
  must(gasLimit <= gasLimitMax, 'gasLimit', gasLimit, `at most ${gasLimitMax}`)
  const baseFee = nextBaseFee(parent, child)
  must(baseFeePerGas === baseFee, 'baseFeePerGas', baseFeePerGas ?? 'absent', String(baseFee))
  if (!includesFork(child.fork, 'ecotone')) return
  must(excessBlobGas === 0n, 'excessBlobGas', excessBlobGas ?? 'absent', '0')
  const footprintMax = includesFork(child.fork, 'jovian') ? gasLimit : 0n
  const isWithin = blobGasUsed !== undefined && blobGasUsed <= footprintMax
  must(isWithin, 'blobGasUsed', blobGasUsed ?? 'absent', `at most ${footprintMax}`)
}

const hasStorageRoot = (fork: ForkName) => includesFork(fork, 'isthmus')
const messagePasser = hexToBytes('4200000000000000000000000000000000000016')

function receiptTail(nonce: bigint, fork: ForkName): readonly bigint[] {
  if (includesFork(fork, 'canyon')) return [nonce, 1n]
  return includesFork(fork, 'regolith') ? [nonce] : []
}

/** Between Regolith and Canyon, a deposit's receipt has its nonce in the store, but not in the trie. */
function receiptInTrie(receipt: Uint8Array, fork: ForkName): Uint8Array {
  if (receipt[0] !== depositType.number || includesFork(fork, 'canyon')) return receipt
  const items = decodeRlpList(receipt.subarray(1)).slice(0, 4)
  return Buffer.concat([receipt.subarray(0, 1), encodeRlp(items)])
}

const bn254Pairing = 0x08
const p256Verify = 0x100
/** Longest inputs, the newest limit first. */
const inputLimits: Readonly<Record<number, readonly (readonly [since: ForkName, bytes: number])[]>> = {
  [bn254Pairing]: [
    ['karst', 57_600],
    ['jovian', 81_984],
    ['granite', 112_687],
  ],
  // G1 MSM, G2 MSM and pairing of BLS12-381.
  12: [
    ['jovian', 288_960],
    ['isthmus', 513_760],
  ],
  14: [
    ['jovian', 278_784],
    ['isthmus', 488_448],
  ],
  15: [
    ['jovian', 156_672],
    ['isthmus', 235_008],
  ],
}

const precompiles: PrecompileRules = {
  // RIP-7212.
  since: new Map([[p256Verify, 'fjord']]),
  gas: (number, fork) => (number === p256Verify && !includesFork(fork, 'karst') ? 3_450n : undefined),
  inputBytesMax: (number, fork) => inputLimits[number]?.find(([since]) => includesFork(fork, since))?.[1],
}

export const optimism: ChainFamily = {
  title: 'OP Stack',
  forks: [
    ...forkNames.slice(0, forkNames.indexOf('paris') + 1).filter((name) => name !== 'paris'),
    ...ownForks,
  ],
  config,
  transactionTypes: new Map(
    [
      ...[...transactionTypes.values()].filter((type) => type.placeOf('blobVersionedHashes') === undefined),
      depositType,
    ].map((type) => [type.number, type] as const),
  ),
  headers: {
    slotSeconds: 2,
    blockBytesMax: () => undefined,
    nextBaseFee,
    child: (parent, { fork, config: rules }) => ({
      gasLimit: parent.gasLimit,
      extraData: nextExtraData(parent, fork, rules),
      blobGasUsed: 0n,
      excessBlobGas: 0n,
      withdrawalsRoot: hasStorageRoot(fork) ? (parent.withdrawalsRoot ?? emptyTrieRoot) : emptyTrieRoot,
    }),
    check,
  },
  proofs: {
    hasWithdrawals: (fork) => !hasStorageRoot(fork),
    receiptTail,
    receiptInTrie,
    receiptForms,
    receiptMembers,
  },
  // The header's `withdrawalsRoot` is that of a contract's storage since Isthmus.
  parts: { ...allParts('executed'), withdrawals: 'reported' },
  reportable: [],
  calls: executedCalls,
  suggestTip,
  execution: {
    hasRequests: false,
    baseFeeReceiver: baseFeeVault,
    fees: feesOf,
    beginBlock: (accounts, { timestamp }, { times }) => {
      // As in op-geth, only by the time: a chain without a block at exactly that time never gets the contract.
      if (times.get('canyon') !== timestamp) return
      accounts.setCode(accounts.account(create2Deployer), create2DeployerCode())
    },
    countsForcedGas: (fork) => includesFork(fork, 'regolith'),
    refuseTransactions: refuseOrder,
    blobGas: daFootprint,
    dataBytes,
    openBlock,
    withdrawalsAccount: (fork) => (hasStorageRoot(fork) ? messagePasser : undefined),
    precompiles,
    tracesBareDigits: true,
  },
}
