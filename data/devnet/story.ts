/**
 * The tool of the story: queues transactions, mines blocks of them, and records the remarkable ones.
 *
 * Owns nonces, contract names and the notes that become `examples.json`. Every transaction says whether it is to fail,
 * and mining throws at another outcome, so that the story is always true.
 */
import type { BlockHeader } from '@ethereumjs/block'
import {
  type AccessList,
  createAccessList2930Tx,
  createBlob4844Tx,
  createEOACode7702Tx,
  createFeeMarket1559Tx,
  createLegacyTx,
  type TypedTransaction,
} from '@ethereumjs/tx'
import { eoaCode7702SignAuthorization, generateAddress, type WithdrawalData } from '@ethereumjs/util'
import { bytesToHex, type Hex, toMinimalBytes, toQuantity } from '../../src/primitives/bytes.js'
import { type AbiValue, encodeAbi, encodeCall } from './abi.js'
import { type Account, miners, people, stranger } from './accounts.js'
import type { ChainBuilder, MinedBlock } from './chainBuilder.js'
import type { Artifact } from './contracts.js'
import type { BlockExample, ContractExample, TransactionExample } from './examples.js'
import { chainId, forkBlocks } from './forks.js'
import { createGenerator } from './generator.js'

const gwei = 10n ** 9n

/** One authorization of a set-code transaction (EIP-7702). `nonce` is the authority's unless given. */
export interface Authorization {
  readonly authority: Account
  readonly delegate: Hex
  readonly nonce?: bigint
}

/** The content of a transaction; everything has a default. `label` and `note` make it an example. */
export interface Sending {
  readonly to?: Hex
  readonly value?: bigint
  readonly data?: Uint8Array
  readonly gas?: bigint
  readonly type?: 0 | 1 | 2 | 3 | 4
  readonly accessList?: AccessList
  readonly blobHashes?: readonly Hex[]
  readonly authorizations?: readonly Authorization[]
  /** Sign without a chain id although EIP-155 allows one. */
  readonly unprotected?: boolean
  readonly fails?: boolean
  readonly label?: string
  readonly note?: string
}

/** Parts of a block besides its transactions. */
export interface BlockExtras {
  readonly uncles?: readonly BlockHeader[]
  readonly withdrawals?: readonly WithdrawalData[]
}

interface Queued {
  readonly tx: TypedTransaction
  readonly sending: Sending
}

/** A slot to read at the end, with its expected value. If `value` is absent, it is any but zero. */
export interface SlotRequest {
  readonly label: string
  readonly contract: string
  readonly slot: Uint8Array
  readonly how: string
  readonly block: number
  readonly value?: bigint | Uint8Array
}

export class Story {
  readonly chain: ChainBuilder
  readonly contracts = new Map<string, ContractExample>()
  readonly slots: SlotRequest[] = []
  readonly blockExamples: BlockExample[] = []
  readonly transactionExamples: TransactionExample[] = []
  totalGasUsed = 0n
  totalTransactions = 0
  /** The generator for all random choices. */
  readonly draw = createGenerator(chainId)
  /** Whether everyday blocks are filled up, to drive the base fee. */
  feeRises = false
  readonly #artifacts: ReadonlyMap<string, Artifact>
  readonly #nonces = new Map<Hex, bigint>()
  #queue: Queued[] = []
  #nextWithdrawal = 0

  constructor(chain: ChainBuilder, artifacts: ReadonlyMap<string, Artifact>) {
    this.chain = chain
    this.#artifacts = artifacts
  }

  /** Number of the block being written. */
  get number(): number {
    return this.chain.nextNumber
  }

  nonceOf(account: Account): bigint {
    return this.#nonces.get(account.hex) ?? 0n
  }

  /** Counts a nonce that something other than a transaction of the account's own used up. */
  useNonce(account: Account): bigint {
    const nonce = this.nonceOf(account)
    this.#nonces.set(account.hex, nonce + 1n)
    return nonce
  }

  artifact(name: string): Artifact {
    const artifact = this.#artifacts.get(name)
    if (artifact === undefined) throw new Error(`no contract is called ${name}`)
    return artifact
  }

  /** The address of a contract that the story has named. */
  at(contract: string): Hex {
    const example = this.contracts.get(contract)
    if (example === undefined) throw new Error(`the story has no contract ${contract} yet`)
    return example.address
  }

  /** Gives a contract its name, from the block being written on. */
  name(name: string, address: Hex, source: string, note: string, block = this.number): void {
    if (this.contracts.has(name)) throw new Error(`two contracts are called ${name}`)
    this.contracts.set(name, { name, address, source, block, note })
  }

  /** Queues a transaction for the block being written. */
  send(from: Account, sending: Sending): void {
    this.#queue.push({ tx: this.#sign(from, sending), sending })
  }

  transfer(from: Account, to: Account, value: bigint, sending: Sending = {}): void {
    this.send(from, { to: to.hex, value, gas: 21_000n, ...sending })
  }

  call(
    from: Account,
    contract: string,
    signature: string,
    args: readonly AbiValue[] = [],
    sending: Sending = {},
  ): void {
    this.send(from, { to: this.at(contract), data: encodeCall(signature, args), ...sending })
  }

  /** Queues a creation and names the contract that it makes. `types` are the constructor's. */
  deploy(
    from: Account,
    name: string,
    artifactName: string,
    note: string,
    types: readonly string[] = [],
    args: readonly AbiValue[] = [],
    sending: Sending = {},
  ): Hex {
    const artifact = this.artifact(artifactName)
    const address = bytesToHex(generateAddress(from.address, toMinimalBytes(this.nonceOf(from))))
    const data = new Uint8Array([...artifact.creationCode, ...encodeAbi(types, args)])
    this.name(name, address, `contracts/${artifact.source}`, note)
    this.send(from, { data, gas: 3_000_000n, ...sending })
    return address
  }

  /** Adds a slot to the examples, with its value after the newest block unless `block` gives another one. */
  slot(request: Omit<SlotRequest, 'block'> & { readonly block?: number }): void {
    this.slots.push({ block: this.number - 1, ...request })
  }

  /** Mines the queued transactions. A block becomes an example by its label, its note, or as the first of a fork. */
  async mine(label = '', note = '', extras: BlockExtras = {}): Promise<MinedBlock> {
    const number = this.number
    const queue = this.#queue
    this.#queue = []
    const mined = await this.chain.mine({
      coinbase: miners[number % miners.length] as Account,
      extraData: number < forkBlocks.merge ? 'tidegate miner' : 'tidegate validator',
      transactions: queue.map(({ tx }) => tx),
      uncles: extras.uncles ?? [],
      withdrawals: extras.withdrawals ?? this.#everydayWithdrawals(number),
    })
    this.#noteTransactions(queue, mined)
    this.#noteBlock(label, note, mined)
    return mined
  }

  /** Counts withdrawals that the story gave a block itself. */
  skipWithdrawals(count: number): void {
    this.#nextWithdrawal += count
  }

  /** None to three withdrawals a block, with the indices of all blocks in one row (EIP-4895). Amounts in gwei. */
  #everydayWithdrawals(number: number): WithdrawalData[] {
    if (number < forkBlocks.shanghai) return []
    return Array.from({ length: number % 4 }, (_, i) => {
      const index = this.#nextWithdrawal++
      return {
        index,
        validatorIndex: (index * 37) % 500,
        address: stranger(1000 + (index % 12)).hex,
        amount: 1_000_000 * (number + i),
      }
    })
  }

  #noteTransactions(queue: readonly Queued[], { block, result }: MinedBlock): void {
    const number = Number(block.header.number)
    this.totalGasUsed += block.header.gasUsed
    this.totalTransactions += queue.length
    for (const [index, { tx, sending }] of queue.entries()) {
      const fault = result.results[index]?.execResult.exceptionError
      const what = `transaction ${index} of block ${number} (${sending.label ?? 'no label'})`
      if (fault !== undefined && sending.fails !== true) throw new Error(`${what} failed: ${fault.error}`)
      if (fault === undefined && sending.fails === true) throw new Error(`${what} did not fail`)
      if (sending.label === undefined) continue
      this.transactionExamples.push({
        label: sending.label,
        note: sending.note ?? '',
        hash: bytesToHex(tx.hash()),
        block: number,
        index,
        type: tx.type,
        succeeded: fault === undefined,
      })
    }
  }

  #noteBlock(label: string, note: string, { block, result }: MinedBlock): void {
    const number = Number(block.header.number)
    const labels = Object.entries(forkBlocks)
      .filter(([, first]) => first === number)
      .map(([name]) => `fork ${name}`)
    if (label !== '') labels.push(label)
    if (labels.length === 0 && note === '') return
    this.blockExamples.push({
      number,
      hash: bytesToHex(block.hash()),
      timestamp: Number(block.header.timestamp),
      labels,
      note: note === '' ? `First block under the rules of ${labels[0]?.slice('fork '.length)}.` : note,
      transactions: block.transactions.length,
      uncles: block.uncleHeaders.length,
      withdrawals: block.withdrawals?.length ?? 0,
      logs: result.receipts.reduce((count, receipt) => count + receipt.logs.length, 0),
    })
  }

  #sign(from: Account, sending: Sending): TypedTransaction {
    const transaction = this.#fill(from, sending).sign(from.privateKey)
    // To recover a known sender takes longer than to execute the transaction.
    transaction.cache.senderPubKey = from.publicKey
    return transaction
  }

  #fill(from: Account, sending: Sending): TypedTransaction {
    const rules = this.chain.nextRules()
    if (sending.unprotected === true) rules.setHardfork('homestead')
    const baseFee = this.chain.nextBaseFee()
    const type = sending.type ?? (baseFee === undefined ? 0 : 2)
    const nonce = this.useNonce(from)
    const shared = {
      nonce,
      gasLimit: sending.gas ?? 400_000n,
      value: sending.value ?? 0n,
      ...(sending.data === undefined ? {} : { data: sending.data }),
      ...(sending.to === undefined ? {} : { to: sending.to }),
    }
    const options = { common: rules }
    if (type < 2) {
      const priced = { ...shared, gasPrice: (baseFee ?? 10n * gwei) + (nonce % 7n) * gwei }
      if (type === 0) return createLegacyTx(priced, options)
      const listed = { ...priced, chainId, accessList: sending.accessList ?? [] }
      return createAccessList2930Tx(listed, options)
    }
    const tip = (1n + (nonce % 3n)) * gwei
    const market = {
      ...shared,
      chainId,
      accessList: sending.accessList ?? [],
      maxPriorityFeePerGas: tip,
      maxFeePerGas: 2n * (baseFee ?? 0n) + tip,
    }
    if (type === 2) return createFeeMarket1559Tx(market, options)
    if (type === 3) {
      const blobHashes = [...(sending.blobHashes ?? [])]
      const blobs = { ...market, maxFeePerBlobGas: 100n * gwei, blobVersionedHashes: blobHashes }
      return createBlob4844Tx(blobs, options)
    }
    const authorizationList = (sending.authorizations ?? []).map((one) => this.#authorize(one))
    return createEOACode7702Tx({ ...market, authorizationList }, options)
  }

  #authorize({ authority, delegate, nonce }: Authorization) {
    const used = nonce ?? this.useNonce(authority)
    return eoaCode7702SignAuthorization(
      {
        chainId: toQuantity(chainId),
        address: delegate,
        nonce: used === 0n ? '0x' : toQuantity(used),
      },
      authority.privateKey,
    )
  }
}

/** Everyone who takes part in everyday traffic. */
export const crowd: readonly Account[] = [
  people.ada,
  people.bea,
  people.cal,
  people.dot,
  people.eve,
  people.fay,
  people.gus,
  people.hal,
]
