/**
 * The fork of each block: by number before the Merge and by time after it, from a geth-format genesis. Owns the times
 * of forks and the blob schedule, not the rules themselves.
 */
import type { ChainIdentity } from '../store/chainRows.js'
import { familyNamed, familyOfConfig } from './families/families.js'
import type { ChainFamily, Child } from './families/family.js'
import { blobBaseFee } from './feeMarket.js'
import {
  type BlobParameters,
  type ChainConfig,
  type EthereumFork,
  type ForkName,
  forkNames,
  forkNumber,
  includesFork,
  isRecord,
  toBigInteger,
  toInteger,
} from './forkNames.js'
import type { Header, Timestamp } from './header.js'

export * from './forkNames.js'

/** The rules in the `config` member of a geth-format genesis, and their family. */
interface GenesisConfig extends ChainConfig {
  readonly family: ChainFamily
}

const blockMembers: ReadonlyMap<string, ForkName> = new Map([
  ['homesteadBlock', 'homestead'],
  ['daoForkBlock', 'dao'],
  ['eip150Block', 'tangerineWhistle'],
  ['eip158Block', 'spuriousDragon'],
  ['byzantiumBlock', 'byzantium'],
  ['constantinopleBlock', 'constantinople'],
  ['petersburgBlock', 'petersburg'],
  // Besu's name for it.
  ['constantinopleFixBlock', 'petersburg'],
  ['istanbulBlock', 'istanbul'],
  ['muirGlacierBlock', 'muirGlacier'],
  ['berlinBlock', 'berlin'],
  ['londonBlock', 'london'],
  ['arrowGlacierBlock', 'arrowGlacier'],
  ['grayGlacierBlock', 'grayGlacier'],
])

/** Forks that activate by time, in order. `NAMETime` is the member of `config` for each. */
export const forksByTime: readonly EthereumFork[] = forkNames.slice(forkNames.indexOf('shanghai'))
const timeMembers = new Map(forksByTime.map((name) => [`${name}Time`, name]))

/** Times of forks set after the genesis file or this program was made, as members of `config`. */
export interface ForkTimes {
  readonly amsterdamTime?: number | undefined
}

/** The `config` of a genesis with these times. Throws RangeError if it already has a different time. */
export function withForkTimes<C extends object>(config: C, forks: ForkTimes): C {
  const added = Object.entries(forks).filter(([, time]) => time !== undefined)
  for (const [member, time] of added) {
    const known = (config as Record<string, unknown>)[member] ?? undefined
    if (known === undefined || toInteger(known, `config.${member}`) === time) continue
    throw new RangeError(`config.${member} is ${known}, and "forks" of the configuration says ${time}`)
  }
  return { ...config, ...Object.fromEntries(added) }
}

/** Besu's files name contracts of requests (EIP-7002, EIP-7251), which have these addresses on every chain. */
const requestContracts: Readonly<Record<string, string>> = {
  withdrawalRequestContractAddress: '0x00000961ef480eb55e80d19ad83579a64c007002',
  consolidationRequestContractAddress: '0x0000bbddc7ce488642fb579f8b00f3a590007251',
}

/** Members without effect here: consensus engines, markers, and numbers that follow from other members. */
const silentMembers = new Set([
  'chainId',
  'networkId',
  'depositContractAddress',
  'terminalTotalDifficulty',
  'terminalTotalDifficultyPassed',
  'mergeNetsplitBlock',
  // Additional members in Besu's files: another spelling, and settings for its peers.
  'mergeNetSplitBlock',
  'preMergeForkBlock',
  'discovery',
  'checkpoint',
  'eip155Block',
  'eip150Hash',
  'daoForkSupport',
  'ethash',
  'blobSchedule',
  ...Object.keys(requestContracts),
])

/** Mainnet's values, for a genesis without a blob schedule. */
const blobDefaults: ReadonlyMap<ForkName, BlobParameters> = new Map([
  ['cancun', { target: 3, max: 6, baseFeeUpdateFraction: 3338477n }],
  ['prague', { target: 6, max: 9, baseFeeUpdateFraction: 5007716n }],
])

/**
 * Reads a genesis `config`. Throws RangeError naming the member that is malformed, contradictory, or sets an unknown
 * rule (silently ignoring a fork would lead to wrong states).
 */
export function parseGenesisConfig(config: unknown): GenesisConfig {
  if (!isRecord(config)) throw new RangeError('"config" is missing')
  const blocks = new Map<ForkName, number>()
  const times = new Map<ForkName, number>()
  const family = familyOfConfig(config)
  for (const [member, value] of Object.entries(config)) {
    if (value === null || value === undefined) continue
    const byBlock = blockMembers.get(member) ?? family.config.blocks.get(member)
    const byTime = timeMembers.get(member) ?? family.config.times.get(member)
    if (byBlock !== undefined) {
      const block = toInteger(value, `config.${member}`)
      if ((blocks.get(byBlock) ?? block) !== block)
        throw new RangeError(
          `config.${member}: ${byBlock} begins at block ${blocks.get(byBlock)} by another member`,
        )
      blocks.set(byBlock, block)
    } else if (byTime !== undefined) times.set(byTime, toInteger(value, `config.${member}`))
    else if (member === 'enableVerkleAtGenesis' && value === false) continue
    else if (!silentMembers.has(member) && !family.config.others.has(member)) {
      throw new RangeError(whyUnknown(member))
    }
  }
  const daoRefusedBlock = config.daoForkSupport === true ? undefined : blocks.get('dao')
  if (config.daoForkSupport !== true) blocks.delete('dao')
  for (const [member, standard] of Object.entries(requestContracts)) {
    const given = config[member] ?? undefined
    if (given !== undefined && String(given).toLowerCase() !== standard) {
      throw new RangeError(`config.${member}: expected ${standard}, no other is supported`)
    }
  }
  const eip155 = config.eip155Block ?? undefined
  if (eip155 !== undefined && toInteger(eip155, 'config.eip155Block') !== blocks.get('spuriousDragon')) {
    throw new RangeError(
      'config.eip155Block and config.eip158Block have to be equal, both are Spurious Dragon',
    )
  }
  const ttd = config.terminalTotalDifficulty
  if (times.size > 0 && (ttd === undefined || ttd === null)) {
    throw new RangeError(
      'config.terminalTotalDifficulty is missing, but forks by time are set; 0 means merged from genesis',
    )
  }
  requireOrder(family, blocks, 'block')
  requireOrder(family, times, 'time')
  requireLondonFirst(family, blocks, ttd)
  const deposit = config.depositContractAddress ?? undefined
  if (deposit !== undefined && !(typeof deposit === 'string' && /^0x[0-9a-fA-F]{40}$/.test(deposit))) {
    throw new RangeError('config.depositContractAddress: expected an address')
  }
  const parsed = {
    chainId: toBigInteger(config.chainId, 'config.chainId'),
    ...(ttd === undefined || ttd === null
      ? {}
      : { terminalTotalDifficulty: toBigInteger(ttd, 'config.terminalTotalDifficulty') }),
    ...(deposit === undefined ? {} : { depositContractAddress: deposit.toLowerCase() }),
    ...(daoRefusedBlock === undefined ? {} : { daoRefusedBlock }),
    blocks,
    times,
    blobSchedule: parseBlobSchedule(config.blobSchedule, times),
    parameters: {},
  }
  return { ...family.config.complete(parsed, config), family }
}

/**
 * From the Merge on, every block has the rules of London, with a base fee. The blocks of a family begin with its first
 * fork: OP Mainnet names London together with Bedrock, before which it was another chain.
 */
function requireLondonFirst(family: ChainFamily, blocks: ReadonlyMap<ForkName, number>, ttd: unknown): void {
  const london = blocks.get('london')
  const isMergedAtGenesis = ttd !== undefined && ttd !== null && toBigInteger(ttd, 'config.ttd') === 0n
  const [begins] = family.config.blocks.values()
  const first = (begins && blocks.get(begins)) ?? 0
  if (!isMergedAtGenesis || (london !== undefined && london <= first)) return
  const when = london === undefined ? 'is missing' : `is ${london}`
  throw new RangeError(
    `config.londonBlock ${when}, and config.terminalTotalDifficulty 0: London comes before the Merge`,
  )
}

function requireOrder(
  { forks }: ChainFamily,
  activations: ReadonlyMap<ForkName, number>,
  unit: string,
): void {
  let last: ForkName | undefined
  for (const name of forks) {
    const at = activations.get(name)
    if (at === undefined) continue
    if (last !== undefined && (activations.get(last) as number) > at) {
      throw new RangeError(
        `config: ${name} at ${unit} ${at} comes before ${last} at ${activations.get(last)}`,
      )
    }
    last = name
  }
}

function parseBlobSchedule(
  schedule: unknown,
  times: ReadonlyMap<ForkName, number>,
): Map<ForkName, BlobParameters> {
  const parsed = new Map(blobDefaults)
  if (schedule !== undefined && schedule !== null) {
    if (!isRecord(schedule)) throw new RangeError('config.blobSchedule: expected an object')
    for (const [name, entry] of Object.entries(schedule)) {
      const path = `config.blobSchedule.${name}`
      if (!(forkNames as readonly string[]).includes(name)) throw new RangeError(`${path}: no such fork`)
      if (!isRecord(entry)) throw new RangeError(`${path}: expected an object`)
      const fraction = toBigInteger(entry.baseFeeUpdateFraction, `${path}.baseFeeUpdateFraction`)
      if (fraction === 0n) throw new RangeError(`${path}.baseFeeUpdateFraction: must not be zero`)
      const target = toInteger(entry.target, `${path}.target`)
      const max = toInteger(entry.max, `${path}.max`)
      if (max === 0 || max < target) throw new RangeError(`${path}.max: expected at least 1 and the target`)
      // An entry for a fork that the chain lacks must not count for later forks, as in go-ethereum.
      const isKept = times.has(name as ForkName) || blobDefaults.has(name as ForkName)
      if (isKept) parsed.set(name as ForkName, { target, max, baseFeeUpdateFraction: fraction })
    }
  }
  for (const name of times.keys()) {
    if (name.startsWith('bpo') && !parsed.has(name)) {
      throw new RangeError(`config.blobSchedule.${name} is missing, but config.${name}Time is set`)
    }
  }
  return parsed
}

/** Rules of each block of one chain. */
export class ForkSchedule {
  /** Whether the Merge is active from the first block: the chain never had proof of work. */
  readonly #mergedAtGenesis: boolean

  /**
   * The schedule of a store's chain. A chain that is only proved has the forks that are known here, because the store
   * has those of the version that made it.
   */
  static of({ config, family: name }: Pick<ChainIdentity, 'config' | 'family'>): ForkSchedule {
    const parsed = parseGenesisConfig(JSON.parse(config))
    if (name === undefined) return new ForkSchedule(parsed)
    const family = familyNamed(name)
    const known = family.knownChain?.(parsed.chainId)
    if (known === undefined) return new ForkSchedule(parsed, family)
    return new ForkSchedule(parseGenesisConfig(known.config), known.family)
  }

  constructor(
    readonly config: GenesisConfig,
    /** The chain's family; that of `config` only has the rules by which its calls run. */
    readonly family: ChainFamily = config.family,
  ) {
    this.#mergedAtGenesis = config.terminalTotalDifficulty === 0n
  }

  /** Whether a block whose parent has this total difficulty is a proof-of-stake block (EIP-3675). */
  isMerged(parentTotalDifficulty: bigint): boolean {
    const { terminalTotalDifficulty } = this.config
    return (
      this.#mergedAtGenesis ||
      (terminalTotalDifficulty !== undefined && parentTotalDifficulty >= terminalTotalDifficulty)
    )
  }

  /** The newest fork active in a block. Forks by time count only once the chain has merged. */
  forkAt(number: number, timestamp: Timestamp, isMerged: boolean): ForkName {
    let active: ForkName = 'chainstart'
    for (const name of this.config.family.forks) {
      const block = this.config.blocks.get(name)
      const time = this.config.times.get(name)
      if (block !== undefined && number >= block) active = name
      else if (isMerged && (name === 'paris' || (time !== undefined && timestamp >= time))) active = name
    }
    return active
  }

  /** The fork of a valid block: after the Merge it has no difficulty. */
  forkOf({ number, timestamp, difficulty }: Pick<Header, 'number' | 'timestamp' | 'difficulty'>): ForkName {
    const isMerged = this.#mergedAtGenesis || (difficulty === 0n && number > 0)
    if (number > 0 || isMerged) return this.forkAt(number, timestamp, isMerged)
    // Forks by time apply to genesis even if the chain has not merged, as in go-ethereum.
    const byTime = this.forkAt(number, timestamp, true)
    return includesFork(byTime, 'shanghai') ? byTime : this.forkAt(number, timestamp, false)
  }

  /** Facts of a block whose parent has this total difficulty. */
  childAt(
    number: number,
    timestamp: Timestamp,
    parentTotalDifficulty: bigint,
  ): Child & { isMerged: boolean } {
    const isMerged = this.isMerged(parentTotalDifficulty)
    const fork = this.forkAt(number, timestamp, isMerged)
    return { number, timestamp, isMerged, ...this.rulesAt(fork) }
  }

  rulesAt(fork: ForkName): Pick<Child, 'fork' | 'config' | 'blobs'> {
    return { fork, config: this.config, blobs: this.blobParametersAt(fork) }
  }

  /** Price of blob gas in the block of a header, wei per gas; undefined before Cancun. */
  blobGasPrice(header: Header): bigint | undefined {
    if (header.excessBlobGas === undefined) return undefined
    const parameters = this.blobParametersAt(this.forkOf(header))
    return parameters && blobBaseFee(header.excessBlobGas, parameters)
  }

  /** Blob parameters of a fork: the newest entry of the schedule up to it; undefined before Cancun. */
  blobParametersAt(fork: ForkName): BlobParameters | undefined {
    for (let index = forkNumber(fork); index >= 0; index--) {
      const parameters = this.config.blobSchedule.get(forkNames[index] as ForkName)
      if (parameters !== undefined) return parameters
    }
    return undefined
  }

  /**
   * Returns the first member of the genesis `config` in which this schedule and `other` differ. Compares only the rules
   * of blocks up to this number, time and total difficulty. Undefined if those rules are equal.
   */
  firstDifference(
    other: ForkSchedule,
    head: { readonly number: number; readonly timestamp: Timestamp; readonly totalDifficulty: bigint },
  ): string | undefined {
    const mine = this.config
    const theirs = other.config
    const isPast = (at: number | bigint | undefined, reached: number | bigint) =>
      at !== undefined && at <= reached
    const differs = (
      a: number | bigint | undefined,
      b: number | bigint | undefined,
      reached: number | bigint,
    ) => a !== b && (isPast(a, reached) || isPast(b, reached))
    if (mine.chainId !== theirs.chainId) return 'chainId'
    if (mine.depositContractAddress !== theirs.depositContractAddress) return 'depositContractAddress'
    if (differs(mine.terminalTotalDifficulty, theirs.terminalTotalDifficulty, head.totalDifficulty)) {
      return 'terminalTotalDifficulty'
    }
    if (mine.family.title !== theirs.family.title) return 'family'
    const parameter = Object.keys(mine.parameters).find(
      (name) => mine.parameters[name] !== theirs.parameters[name],
    )
    if (parameter !== undefined) return parameter
    for (const name of new Set([...forkNames, ...mine.family.forks])) {
      if (differs(mine.blocks.get(name), theirs.blocks.get(name), head.number)) return name
      if (differs(mine.times.get(name), theirs.times.get(name), head.timestamp)) return name
      const a = mine.blobSchedule.get(name)
      const b = theirs.blobSchedule.get(name)
      const isSame =
        a?.target === b?.target && a?.max === b?.max && a?.baseFeeUpdateFraction === b?.baseFeeUpdateFraction
      if (!isSame && isPast(mine.times.get(name), head.timestamp)) return `blobSchedule.${name}`
    }
    return undefined
  }

  /** First block with EIP-1559; undefined for never. */
  get londonBlock(): number | undefined {
    return this.config.blocks.get('london')
  }
}

/** Removing a fork from a configuration does not remove it from the chain. */
function whyUnknown(member: string): string {
  const [, fork] = /^(\w+)(Time|Block)$/.exec(member) ?? []
  if (fork === undefined) return `config.${member} is not supported; remove it if it sets no rule`
  return (
    `config.${member} names a fork that this version does not know (${fork}); update Tidegate. ` +
    'Do not remove it: blocks from it on would be executed by the wrong rules'
  )
}
