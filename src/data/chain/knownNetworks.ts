/**
 * Public networks by their usual names: chain id, genesis hash and forks. For chains without a genesis file; their
 * state at genesis is not here.
 *
 * Source: go-ethereum's params/config.go and core/genesis.go, as of 20 August 2026 (commit 02b73d4); and the time of
 * Sepolia's Amsterdam, 6 October 2026, 13:53:36 UTC. For the others, Amsterdam's time was not fixed then: a
 * configuration sets it with `forks`.
 */
import type { ChainIdentity } from '../store/chainRows.js'
import { familyNamed } from './families/families.js'
import { provedNetworks } from './families/provedNetworks.js'
import { type ForkTimes, forksUpToLondon, parseGenesisConfig, withForkTimes } from './forks.js'

interface KnownNetwork {
  readonly genesisHash: string
  /** The `config` member of a geth-format genesis. */
  readonly config: { readonly chainId: number } & Readonly<Record<string, unknown>>
}

const blobSchedule = {
  cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 },
  prague: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
  bpo1: { target: 10, max: 15, baseFeeUpdateFraction: 8_346_193 },
  bpo2: { target: 14, max: 21, baseFeeUpdateFraction: 11_684_671 },
} as const

const knownNetworks: Readonly<Record<string, KnownNetwork>> = {
  mainnet: {
    genesisHash: '0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3',
    config: {
      chainId: 1,
      homesteadBlock: 1_150_000,
      daoForkBlock: 1_920_000,
      daoForkSupport: true,
      eip150Block: 2_463_000,
      eip155Block: 2_675_000,
      eip158Block: 2_675_000,
      byzantiumBlock: 4_370_000,
      constantinopleBlock: 7_280_000,
      petersburgBlock: 7_280_000,
      istanbulBlock: 9_069_000,
      muirGlacierBlock: 9_200_000,
      berlinBlock: 12_244_000,
      londonBlock: 12_965_000,
      arrowGlacierBlock: 13_773_000,
      grayGlacierBlock: 15_050_000,
      terminalTotalDifficulty: '58750000000000000000000',
      shanghaiTime: 1_681_338_455,
      cancunTime: 1_710_338_135,
      pragueTime: 1_746_612_311,
      osakaTime: 1_764_798_551,
      bpo1Time: 1_765_290_071,
      bpo2Time: 1_767_747_671,
      depositContractAddress: '0x00000000219ab540356cbb839cbe05303d7705fa',
      blobSchedule,
    },
  },
  sepolia: {
    genesisHash: '0x25a5cc106eea7138acab33231d7160d69cb777ee0c2c553fcddf5138993e6dd9',
    config: {
      chainId: 11_155_111,
      ...forksUpToLondon,
      muirGlacierBlock: 0,
      terminalTotalDifficulty: '17000000000000000',
      mergeNetsplitBlock: 1_735_371,
      shanghaiTime: 1_677_557_088,
      cancunTime: 1_706_655_072,
      pragueTime: 1_741_159_776,
      osakaTime: 1_760_427_360,
      bpo1Time: 1_761_017_184,
      bpo2Time: 1_761_607_008,
      amsterdamTime: 1_791_294_816,
      depositContractAddress: '0x7f02c3e3c98b133055b8b348b2ac625669ed295d',
      blobSchedule,
    },
  },
  holesky: {
    genesisHash: '0xb5f7f912443c940f21fd611f12828d75b534364ed9e95ca4e307729a4661bde4',
    config: {
      chainId: 17_000,
      ...forksUpToLondon,
      terminalTotalDifficulty: 0,
      shanghaiTime: 1_696_000_704,
      cancunTime: 1_707_305_664,
      pragueTime: 1_740_434_112,
      osakaTime: 1_759_308_480,
      bpo1Time: 1_759_800_000,
      bpo2Time: 1_760_389_824,
      depositContractAddress: '0x4242424242424242424242424242424242424242',
      blobSchedule,
    },
  },
  hoodi: {
    genesisHash: '0xbbe312868b376a3001692a646dd2d7d1e4406380dfd86b98aa8a34d1557c971b',
    config: {
      chainId: 560_048,
      ...forksUpToLondon,
      terminalTotalDifficulty: 0,
      shanghaiTime: 0,
      cancunTime: 0,
      pragueTime: 1_742_999_832,
      osakaTime: 1_761_677_592,
      bpo1Time: 1_762_365_720,
      bpo2Time: 1_762_955_544,
      depositContractAddress: '0x00000000219ab540356cbb839cbe05303d7705fa',
      blobSchedule,
    },
  },
}

export const knownNetworkNames: readonly string[] = Object.keys(knownNetworks)

/** The chain with these fork times. Throws RangeError as {@link withForkTimes} does, and for times out of order. */
export function identityWithForks(identity: ChainIdentity, forks: ForkTimes): ChainIdentity {
  if (Object.values(forks).every((time) => time === undefined)) return identity
  const config = withForkTimes(JSON.parse(identity.config), forks)
  parseGenesisConfig(config)
  return { ...identity, config: JSON.stringify(config) }
}

/** The identity of a public network, by its chain id or, without one, by its name; undefined for others. */
export function knownIdentity(name: string, chainId: number | undefined): ChainIdentity | undefined {
  const found = Object.entries(knownNetworks).find(([known, { config }]) =>
    chainId === undefined ? known === name : config.chainId === chainId,
  )
  if (found === undefined) return undefined
  const [, { genesisHash, config }] = found
  const id = String(config.chainId)
  return { chainId: id, networkId: id, genesisHash, config: JSON.stringify(config) }
}

/** Time between two blocks of Ethereum's own networks. */
const slotMs = 12_000

/** A public network's usual name, its family if that is not Ethereum, and the time between two of its blocks. */
interface KnownName {
  readonly name: string
  readonly family: string | undefined
  readonly blockMs: number
}

/** Undefined for chains that are not known. */
export function networkOf(chainId: number): KnownName | undefined {
  const known = Object.entries(knownNetworks).find(([, { config }]) => config.chainId === chainId)
  if (known !== undefined) return { name: known[0], family: undefined, blockMs: slotMs }
  const proved = provedNetworks.find(([id]) => id === chainId)
  return proved && { name: proved[1], family: proved[2], blockMs: proved[3] }
}

/**
 * The identity of a chain of another family with first block `genesisHash`. Its `config` has the rules of calls, if
 * any.
 */
export function familyIdentity(chainId: string, genesisHash: string, name: string): ChainIdentity {
  const { calls, proofs } = familyNamed(name)
  const config = {
    chainId: Number(chainId),
    ...forksUpToLondon,
    terminalTotalDifficulty: 0,
    shanghaiTime: 0,
    cancunTime: 0,
    pragueTime: 0,
    ...(calls.rules?.fork === 'osaka' ? { osakaTime: 0 } : {}),
  }
  const identity = { chainId, networkId: chainId, genesisHash, config: JSON.stringify(config), family: name }
  return proofs.trieForm === undefined ? identity : { ...identity, trieForm: proofs.trieForm }
}
