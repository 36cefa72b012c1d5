/**
 * Makes small valid chains for tests with code that is not under test: @ethereumjs/vm over its own Merkle state. Any
 * earlier block may be the parent of a new one, so competing branches are two calls with one parent.
 */
import {
  type Block,
  createBlock,
  genTransactionsTrieRoot,
  genWithdrawalsTrieRoot,
  paramsBlock,
} from '@ethereumjs/block'
import {
  type Common,
  type CustomCrypto,
  createCommonFromGethGenesis,
  type GethGenesis,
  parseGethGenesisState,
} from '@ethereumjs/common'
import { paramsEVM } from '@ethereumjs/evm'
import { RLP } from '@ethereumjs/rlp'
import { MerkleStateManager } from '@ethereumjs/statemanager'
import { createTx, paramsTx, type TransactionType } from '@ethereumjs/tx'
import {
  type Address,
  createAddressFromPrivateKey,
  createWithdrawal,
  privateToPublic,
  type WithdrawalData,
} from '@ethereumjs/util'
import { createVM, encodeReceipt, paramsVM, type RunBlockResult, runBlock, type VM } from '@ethereumjs/vm'
import secp256k1 from 'secp256k1'
import { systemContracts } from '../../data/devnet/systemContracts.js'
import { concatBytes, hexToBytes } from '../../src/primitives/bytes.js'
import { keccak256 } from '../../src/primitives/keccak.js'

/** The first `count` private keys: 1, 2 and so on. */
export function keysUpTo(count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, at) => hexToBytes((at + 1).toString(16).padStart(64, '0')))
}

/** Keys of the sending accounts; every genesis made by {@link testGenesis} gives them ether. */
export const testKeys = keysUpTo(3)
export const testAddresses: readonly Address[] = testKeys.map((key) => createAddressFromPrivateKey(key))

/** Contracts in every genesis made by {@link testGenesis}. */
export const contracts = {
  /** Code that stores its input's second word under its first, and logs the second under topic 7. */
  store: '0x000000000000000000000000000000000000c0de',
  /** Code that sends its balance to its caller and destructs itself. Its slots 1 to 3 are set. */
  mortal: '0x000000000000000000000000000000000000dead',
  /** Creates a contract from its input with salt 0 (CREATE2). */
  factory: '0x000000000000000000000000000000000000fac7',
} as const

export interface TransactionPlan {
  /** Index into the maker's keys. */
  readonly from?: number
  /** The recipient; if absent, the transaction creates a contract. */
  readonly to?: string
  readonly value?: bigint
  readonly data?: Uint8Array
  readonly gasLimit?: bigint
  readonly gasPrice?: bigint
  /** Legacy by default. */
  readonly type?: TransactionType
  readonly fields?: Readonly<Record<string, unknown>>
}

export interface BlockPlan {
  readonly transactions?: readonly TransactionPlan[]
  /** Seconds after the parent; default 10. */
  readonly after?: number
  readonly coinbase?: string
  readonly extraData?: Uint8Array
  readonly uncles?: readonly MadeBlock[]
  readonly withdrawals?: readonly WithdrawalData[]
  /** Root of the parent's beacon block, from Cancun on. */
  readonly beaconRoot?: Uint8Array
  /** Replacements for fields of the finished header, which make the block invalid; it cannot be a parent. */
  readonly header?: Readonly<Record<string, unknown>>
}

export interface MadeBlock {
  readonly rlp: Uint8Array
  readonly hash: Uint8Array
  readonly number: number
  readonly block: Block
  readonly receipts: readonly Uint8Array[]
  readonly results: RunBlockResult | undefined
}

interface Sender {
  readonly key: Uint8Array
  readonly publicKey: Uint8Array
  readonly address: Address
}

type Config = Record<string, unknown>

/** Without the contracts of withdrawal and consolidation requests, no block is valid from Prague on. */
export const requestContracts = Object.fromEntries(
  systemContracts
    .filter(({ name }) => name.endsWith('Requests'))
    .map(({ address, code }) => [address, { balance: '0x0', code }]),
)

/** A genesis with ether, contracts and the given rules. */
export function testGenesis(config: Config, members: Record<string, unknown> = {}): GethGenesis {
  const alloc: Record<string, unknown> = {
    [contracts.store]: { balance: '0x0', code: '0x60203560003555602035600052600760206000a100' },
    [contracts.mortal]: {
      balance: '0x5',
      code: '0x33ff',
      storage: Object.fromEntries(
        [1, 2, 3].map((slot) => [`0x${slot.toString(16).padStart(64, '0')}`, '0x0a']),
      ),
    },
    [contracts.factory]: { balance: '0x0', code: '0x36600060003760003660006000f500' },
  }
  if (config.pragueTime !== undefined) Object.assign(alloc, requestContracts)
  for (const address of testAddresses) alloc[address.toString()] = { balance: '0xffffffffffffffffffff' }
  return {
    config: { chainId: 7357, ...config },
    nonce: '0x0',
    timestamp: '0x0',
    extraData: '0x',
    gasLimit: '0x1c9c380',
    difficulty: '0x20000',
    mixHash: `0x${'00'.repeat(32)}`,
    coinbase: `0x${'00'.repeat(20)}`,
    alloc,
    ...members,
  } as unknown as GethGenesis
}

const numbered = ['homestead', 'eip150', 'eip155', 'eip158', 'byzantium', 'constantinople', 'petersburg']

/** Forks by number up to London, all from the genesis on: proof of work. */
export function londonConfig(): Config {
  const config: Config = { ethash: {} }
  for (const name of [...numbered, 'istanbul', 'berlin', 'london']) config[`${name}Block`] = 0
  return config
}

/** Proof of work without any fork: receipts have the state root after each transaction. */
export function frontierConfig(): Config {
  return { ethash: {} }
}

/** The config of a chain that is merged from the genesis on, with all forks by time up to Prague. */
export function mergedConfig(): Config {
  return {
    ...londonConfig(),
    mergeNetsplitBlock: 0,
    terminalTotalDifficulty: 0,
    shanghaiTime: 0,
    cancunTime: 0,
    pragueTime: 0,
    blobSchedule: {
      cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3338477 },
      prague: { target: 6, max: 9, baseFeeUpdateFraction: 5007716 },
    },
  }
}

/** Merged from the genesis on, with all forks up to Amsterdam. */
export function amsterdamConfig(): Config {
  return { ...mergedConfig(), osakaTime: 0, amsterdamTime: 0 }
}

/** Proof of work up to block `mergeBlock` − 1, if blocks come every 10 s and the difficulty stays at its minimum. */
export function mergingConfig(mergeBlock: number): Config {
  return {
    ...londonConfig(),
    mergeNetsplitBlock: mergeBlock,
    terminalTotalDifficulty: 0x20000 * mergeBlock,
    shanghaiTime: 1_000_000,
  }
}

/** Input of {@link contracts.store}. */
export function storeInput(slot: bigint, value: bigint): Uint8Array {
  const word = (n: bigint) => hexToBytes(n.toString(16).padStart(64, '0'))
  return concatBytes(word(slot), word(value))
}

/** Native signatures and hashes; with those of the library, in JavaScript, they take half of the time of a block. */
const customCrypto = {
  keccak256,
  /** Recovery id, r and s. */
  ecsign: (hash: Uint8Array, key: Uint8Array) => {
    const { recid, signature } = secp256k1.ecdsaSign(hash, key)
    return concatBytes(Uint8Array.of(recid), signature)
  },
} as CustomCrypto

/** The rules of a genesis. */
function rulesOf(genesis: GethGenesis): Common {
  const common = createCommonFromGethGenesis(genesis, { chain: 'test', customCrypto })
  common.setHardforkBy({ blockNumber: 0, timestamp: 0 })
  for (const params of [paramsBlock, paramsTx, paramsEVM, paramsVM]) common.updateParams(params)
  // Each block and transaction would merge the parameters again, into a copy that already has them.
  return Object.assign(common, { updateParams: () => undefined })
}

export class ChainMaker {
  readonly #blocks = new Map<string, MadeBlock>()
  readonly #common: Common
  readonly #vm: VM
  readonly #senders: readonly Sender[]
  /** Reads states; it is separate from the state on which blocks are built. */
  readonly #reader: MerkleStateManager
  #reading: Promise<unknown> = Promise.resolve()

  private constructor(
    readonly genesisText: string,
    common: Common,
    vm: VM,
    readonly genesis: MadeBlock,
    keys: readonly Uint8Array[],
  ) {
    this.#senders = keys.map((key) => ({
      key,
      publicKey: privateToPublic(key),
      address: createAddressFromPrivateKey(key),
    }))
    this.#common = common
    this.#vm = vm
    this.#reader = vm.stateManager.shallowCopy() as MerkleStateManager
    this.#remember(genesis)
  }

  /** `keys`: keys of the sending accounts. */
  static async create(genesis: GethGenesis, keys: readonly Uint8Array[] = testKeys): Promise<ChainMaker> {
    const common = rulesOf(genesis)
    const state = new MerkleStateManager({ common })
    await state.generateCanonicalGenesis(parseGethGenesisState(genesis))
    const vm = await createVM({ common, stateManager: state })
    const header = {
      number: 0,
      stateRoot: await state.getStateRoot(),
      gasLimit: genesis.gasLimit,
      difficulty: genesis.difficulty,
      timestamp: genesis.timestamp,
      extraData: genesis.extraData,
      mixHash: genesis.mixHash,
      nonce: `0x${'00'.repeat(8)}`,
    }
    const data = { header } as unknown as Parameters<typeof createBlock>[0]
    const block = createBlock(data, { common, skipConsensusFormatValidation: true })
    const made = madeBlock(block, [], undefined)
    return new ChainMaker(JSON.stringify(genesis), common, vm, made, keys)
  }

  /** Builds one block on `parent`. */
  async extend(parent: MadeBlock, plan: BlockPlan = {}): Promise<MadeBlock> {
    const common = this.#common
    const vm = this.#vm
    const parentHeader = parent.block.header
    const number = parentHeader.number + 1n
    const timestamp = parentHeader.timestamp + BigInt(plan.after ?? 10)
    common.setHardforkBy({ blockNumber: number, timestamp })
    const isWork = common.consensusType() === 'pow'
    await vm.stateManager.setStateRoot(parentHeader.stateRoot)
    const isLondon = common.isActivatedEIP(1559)
    const header: Record<string, unknown> = {
      parentHash: parent.hash,
      number,
      timestamp,
      gasLimit: parentHeader.gasLimit,
      coinbase: plan.coinbase ?? `0x${'c0'.repeat(20)}`,
      extraData: plan.extraData ?? new Uint8Array(0),
      uncleHash: undefined,
      ...(isLondon ? { baseFeePerGas: parentHeader.calcNextBaseFee() } : {}),
      ...(common.isActivatedEIP(4844)
        ? { excessBlobGas: parentHeader.calcNextExcessBlobGas(common), blobGasUsed: 0n }
        : {}),
      ...(common.isActivatedEIP(4788)
        ? { parentBeaconBlockRoot: plan.beaconRoot ?? new Uint8Array(32).fill(0xbe) }
        : {}),
    }
    const transactions = await this.#sign(plan.transactions ?? [], header.baseFeePerGas as bigint | undefined)
    const uncleHeaders = (plan.uncles ?? []).map(({ block }) => block.header)
    const withdrawals = common.isActivatedEIP(4895)
      ? (plan.withdrawals ?? []).map(createWithdrawal)
      : undefined
    const options = {
      common,
      skipConsensusFormatValidation: true,
      ...(isWork ? { calcDifficultyFromHeader: parentHeader } : {}),
    }
    const fill = (more: Record<string, unknown>) => {
      const data = {
        header: { ...header, ...more },
        transactions,
        uncleHeaders,
        ...(withdrawals === undefined ? {} : { withdrawals }),
      } as Parameters<typeof createBlock>[0]
      const block = createBlock(data, options)
      // The block has copies. Recovering a known key takes longer than executing the transaction.
      for (const [i, { cache }] of transactions.entries()) {
        Object.assign(block.transactions[i]?.cache ?? {}, { senderPubKey: cache.senderPubKey })
      }
      return block
    }
    this.#answerBlockHashes(parent)
    const draft = fill({})
    const blobs = transactions.reduce(
      (sum, tx) => sum + ('blobVersionedHashes' in tx ? (tx.blobVersionedHashes as unknown[]).length : 0),
      0,
    )
    const result = await runBlock(vm, { block: draft, generate: true, skipBlockValidation: true })
    const block = fill({
      uncleHash: keccak256(RLP.encode(uncleHeaders.map((uncle) => uncle.raw()))),
      stateRoot: result.stateRoot,
      receiptTrie: result.receiptsRoot,
      logsBloom: result.logsBloom,
      gasUsed: result.gasUsed,
      transactionsTrie: await genTransactionsTrieRoot(transactions),
      ...(withdrawals === undefined ? {} : { withdrawalsRoot: await genWithdrawalsTrieRoot(withdrawals) }),
      ...(result.requestsHash === undefined ? {} : { requestsHash: result.requestsHash }),
      ...(common.isActivatedEIP(4844) ? { blobGasUsed: BigInt(blobs) * 131_072n } : {}),
      ...plan.header,
    })
    const receipts = result.receipts.map((receipt, i) => encodeReceipt(receipt, transactions[i]?.type ?? 0))
    const made = madeBlock(block, receipts, result)
    this.#remember(made)
    return made
  }

  /** Builds one block after the other on `parent`. */
  async extendBy(parent: MadeBlock, plans: readonly BlockPlan[]): Promise<MadeBlock[]> {
    const made: MadeBlock[] = []
    for (const plan of plans) made.push(await this.extend(made.at(-1) ?? parent, plan))
    return made
  }

  /** The result of `read` on the state after a block. Only one reads at a time, also while blocks are built. */
  readState<T>(at: MadeBlock, read: (state: MerkleStateManager) => Promise<T>): Promise<T> {
    const result = this.#reading.then(async () => {
      await this.#reader.setStateRoot(at.block.header.stateRoot)
      return read(this.#reader)
    })
    this.#reading = result.catch(() => undefined)
    return result
  }

  async #sign(plans: readonly TransactionPlan[], baseFee: bigint | undefined) {
    const nonces = new Map<number, bigint>()
    const signed = []
    for (const plan of plans) {
      const from = plan.from ?? 0
      const { key, publicKey, address } = this.#senders[from] as Sender
      const account = await this.#vm.stateManager.getAccount(address)
      const nonce = nonces.get(from) ?? account?.nonce ?? 0n
      nonces.set(from, nonce + 1n)
      const price = plan.gasPrice ?? (baseFee ?? 1_000_000_000n) + 1_000n
      const isFeeMarket = plan.type !== undefined && plan.type >= 2
      const data = {
        type: plan.type ?? 0,
        nonce,
        gasLimit: plan.gasLimit ?? 200_000n,
        value: plan.value ?? 0n,
        data: plan.data ?? new Uint8Array(0),
        ...(plan.to === undefined ? {} : { to: plan.to }),
        ...(isFeeMarket ? { maxFeePerGas: price * 2n, maxPriorityFeePerGas: 7n } : { gasPrice: price }),
        ...(plan.type === undefined || plan.type === 0 ? {} : { chainId: this.#common.chainId() }),
        ...plan.fields,
      }
      const transaction = createTx(data as Parameters<typeof createTx>[0], { common: this.#common })
      const one = transaction.sign(key)
      one.cache.senderPubKey = publicKey
      signed.push(one)
    }
    return signed
  }

  #answerBlockHashes(parent: MadeBlock): void {
    const getBlock = async (number: number) => {
      let made: MadeBlock | undefined = parent
      while (made !== undefined && made.number > number) {
        made = this.#blocks.get(Buffer.from(made.block.header.parentHash).toString('hex'))
      }
      return { hash: () => made?.hash }
    }
    const blockchain = { getBlock, putBlock: async () => undefined, shallowCopy: () => blockchain }
    Object.assign(this.#vm.evm, { blockchain })
    Object.assign(this.#vm, { blockchain })
  }

  #remember(made: MadeBlock): void {
    this.#blocks.set(Buffer.from(made.hash).toString('hex'), made)
  }
}

function madeBlock(
  block: Block,
  receipts: readonly Uint8Array[],
  results: RunBlockResult | undefined,
): MadeBlock {
  return {
    rlp: block.serialize(),
    hash: block.hash(),
    number: Number(block.header.number),
    block,
    receipts,
    results,
  }
}
