import { hexToBytes } from '@noble/hashes/utils.js'
import type { ConsensusForkName, ConsensusNetwork } from './network.js'

interface KnownNetwork {
  readonly chainId: number
  readonly genesisTime: number
  readonly genesisValidatorsRoot: string
  /** Version and first epoch; undefined if the epoch was not fixed. */
  readonly forks: Readonly<Record<ConsensusForkName, readonly [version: string, epoch: number | undefined]>>
}

/**
 * The consensus layer of public networks. Source: eth-clients/mainnet, sepolia and hoodi, metadata/config.yaml, as of
 * September 2026. Gloas was fixed only on Sepolia.
 */
const knownNetworks: readonly KnownNetwork[] = [
  {
    chainId: 1,
    genesisTime: 1_606_824_023,
    genesisValidatorsRoot: '4b363db94e286120d76eb905340fdd4e54bfe9f06bf33ff6cf5ad27f511bfe95',
    forks: {
      genesis: ['00000000', 0],
      altair: ['01000000', 74_240],
      bellatrix: ['02000000', 144_896],
      capella: ['03000000', 194_048],
      deneb: ['04000000', 269_568],
      electra: ['05000000', 364_032],
      fulu: ['06000000', 411_392],
      gloas: ['07000000', undefined],
    },
  },
  {
    chainId: 11_155_111,
    genesisTime: 1_655_733_600,
    genesisValidatorsRoot: 'd8ea171f3c94aea21ebc42a1ed61052acf3f9209c00e4efbaaddac09ed9b8078',
    forks: {
      genesis: ['90000069', 0],
      altair: ['90000070', 50],
      bellatrix: ['90000071', 100],
      capella: ['90000072', 56_832],
      deneb: ['90000073', 132_608],
      electra: ['90000074', 222_464],
      fulu: ['90000075', 272_640],
      gloas: ['90000076', 353_024],
    },
  },
  {
    chainId: 560_048,
    genesisTime: 1_742_213_400,
    genesisValidatorsRoot: '212f13fc4df078b6cb7db228f1c8307566dcecf900867401a92023d7ba99cb5f',
    forks: {
      genesis: ['10000910', 0],
      altair: ['20000910', 0],
      bellatrix: ['30000910', 0],
      capella: ['40000910', 0],
      deneb: ['50000910', 0],
      electra: ['60000910', 2_048],
      fulu: ['70000910', 50_688],
      gloas: ['80000910', undefined],
    },
  },
]

/**
 * The consensus layer of a public network by its chain id; undefined for others. `gloasEpoch` is used if the table has
 * none. A wrong one makes valid signatures fail, and never lets an invalid one pass.
 */
export function knownConsensus(chainId: number, gloasEpoch?: number): ConsensusNetwork | undefined {
  const known = knownNetworks.find((network) => network.chainId === chainId)
  if (known === undefined) return undefined
  const { genesisTime, genesisValidatorsRoot, forks } = known
  return {
    genesisTime,
    genesisValidatorsRoot: hexToBytes(genesisValidatorsRoot),
    forks: Object.entries(forks).flatMap(([name, [version, fixed]]) => {
      const epoch = fixed ?? (name === 'gloas' ? gloasEpoch : undefined)
      if (epoch === undefined) return []
      return [{ name: name as ConsensusForkName, epoch, version: hexToBytes(version) }]
    }),
  }
}
