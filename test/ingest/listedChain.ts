/** Makes chains of Amsterdam with their access lists. Executes each block once, in order, to fill its header. */
import { createRequire } from 'node:module'
import { blockAccessListHash } from '../../src/data/chain/blockAccessList.js'
import { nextBaseFee } from '../../src/data/chain/feeMarket.js'
import type { ForkSchedule } from '../../src/data/chain/forks.js'
import {
  decodeHeader,
  encodeHeader,
  type Header,
  headerHash,
  toTimestamp,
} from '../../src/data/chain/header.js'
import { BranchState } from '../../src/data/state/stateView.js'
import { RecentTries } from '../../src/data/state/trie.js'
import { bodyHashes } from '../../src/execution/evm/blocks/blockParts.js'
import { BlockExecutor, type ExecutedBlock } from '../../src/execution/evm/blocks/executeBlock.js'
import { addressOfKey, RecoveredKeys } from '../../src/execution/evm/transactions/recoveredKeys.js'
import {
  type Address,
  bytesToHex,
  concatBytes,
  type Hash32,
  padLeft,
  toMinimalBytes,
} from '../../src/primitives/bytes.js'
import { InvalidBlockError } from '../../src/primitives/faults.js'
import { keccak256 } from '../../src/primitives/keccak.js'
import {
  decodeRlpList,
  encodeRlp,
  encodeRlpListOfEncoded,
  type RlpItem,
  rlpListSpans,
  rlpSpanAt,
} from '../../src/primitives/rlp.js'
import { parseGenesis } from '../../src/sources/ingest/blocks/genesis.js'
import { emptyState } from '../library/emptyState.js'
import { amsterdamConfig, requestContracts } from './chainMaker.js'

const secp256k1 = createRequire(import.meta.url)('secp256k1') as typeof import('secp256k1')
export const listedChainId = 7357
const gasLimit = 60_000_000n
/** Contracts of EIP-8282, without which no block is valid. They have no requests. */
export const builderContracts = Object.fromEntries(
  ['0x0000bff46984e3725691fa540a8c7589300d8282', '0x000064d678505ad48f8ccb093bc65613800e8282'].map(
    (address) => [address, { balance: '0x0', code: '0x00' }],
  ),
)

/** An account that signs. */
export interface Sender {
  readonly key: Uint8Array
  readonly address: Address
}

export function makeSenders(count: number): Sender[] {
  return Array.from({ length: count }, (_, at) => {
    const key = padLeft(toMinimalBytes(at + 1), 32)
    return { key, address: addressOfKey(secp256k1.publicKeyCreate(key, false).subarray(1)) as Address }
  })
}

/** A block with its list, and the result of its execution. */
export interface ListedBlock {
  readonly headerRlp: Uint8Array
  readonly bodyRlp: Uint8Array
  readonly blockAccessList: Uint8Array
  readonly executed: ExecutedBlock
}

export class ListedChain {
  readonly schedule: ForkSchedule
  readonly genesisText: string
  readonly #executor: BlockExecutor
  readonly #keys: RecoveredKeys
  readonly #hashes: Hash32[]
  readonly #state = new BranchState(emptyState)
  #parent: Header

  /** `alloc` as in geth's genesis. The senders get ether. */
  constructor(alloc: Readonly<Record<string, unknown>>, senders: readonly Sender[]) {
    const rich = senders.map(({ address }) => [bytesToHex(address), { balance: String(10n ** 24n) }])
    this.genesisText = JSON.stringify({
      config: { chainId: listedChainId, ...amsterdamConfig() },
      alloc: { ...requestContracts, ...builderContracts, ...alloc, ...Object.fromEntries(rich) },
      nonce: '0x0',
      timestamp: '0x0',
      difficulty: '0x0',
      baseFeePerGas: '0x7',
      gasLimit: `0x${gasLimit.toString(16)}`,
    })
    const { schedule, blockDiff } = parseGenesis(this.genesisText)
    this.schedule = schedule
    // The key of a new signature is known, so it need not be recovered.
    this.#keys = new RecoveredKeys()
    this.#executor = new BlockExecutor(schedule, this.#keys, {
      recent: new RecentTries(),
      isDevelopment: true,
    })
    this.#hashes = [blockDiff.hash]
    this.#parent = decodeHeader(blockDiff.header)
    this.#state.add(blockDiff, this.#parent.stateRoot)
  }

  readonly ancestorHash = (number: number): Hash32 | undefined => this.#hashes[number]

  /** Makes the next block. Leaves out the first transaction that may not run, and all after it. */
  add(transactions: readonly Uint8Array[]): ListedBlock {
    const parent = this.#parent
    const draft: Header = {
      ...parent,
      parentHash: this.#hashes.at(-1) as Hash32,
      number: parent.number + 1,
      timestamp: toTimestamp(BigInt(parent.timestamp) + 12n),
      miner: padLeft(Uint8Array.of(0xc0), 20),
      parentBeaconBlockRoot: keccak256(Uint8Array.of(parent.number & 0xff)),
      baseFeePerGas: nextBaseFee(parent),
      slotNumber: BigInt(parent.number + 1),
    }
    const bodyOf = (count: number | undefined) => [transactions.slice(0, count), [], []]
    const run = (count: number | undefined) =>
      this.#executor.execute(
        [decodeRlpList(encodeHeader(draft)), ...bodyOf(count)],
        'amsterdam',
        this.#state,
        this.ancestorHash,
      )
    let count: number | undefined
    let executed: ExecutedBlock
    try {
      executed = run(count)
    } catch (error) {
      if (!(error instanceof InvalidBlockError)) throw error
      count = error.transaction
      executed = run(count)
    }
    const { changes, gasUsed, logsBloom, receiptsRoot } = executed
    const blockAccessList = executed.blockAccessList as Uint8Array
    const body = bodyOf(count)
    const { transactionsRoot, withdrawalsRoot } = bodyHashes({
      transactions: body[0] as Uint8Array[],
      uncles: [],
      withdrawals: [],
    })
    const header: Header = {
      ...draft,
      transactionsRoot,
      withdrawalsRoot: withdrawalsRoot as Hash32,
      gasUsed,
      logsBloom,
      receiptsRoot,
      stateRoot: changes.stateRoot,
      requestsHash: executed.requestsHash as Hash32,
      blockAccessListHash: blockAccessListHash(blockAccessList),
    }
    const headerRlp = encodeHeader(header)
    const hash = headerHash(headerRlp)
    this.#hashes.push(hash)
    this.#parent = header
    return { headerRlp, bodyRlp: encodeRlp(body), blockAccessList, executed }
  }
}

/** A block and its list in go-ethereum's export format. */
export function withListRlp({ headerRlp, bodyRlp, blockAccessList }: ListedBlock): Uint8Array {
  const body = rlpListSpans(bodyRlp, rlpSpanAt(bodyRlp, 0)).map(({ start, end }) =>
    bodyRlp.subarray(start, end),
  )
  return encodeRlpListOfEncoded([headerRlp, ...body, blockAccessList])
}

/** A signed transaction of `type`; `fields` are those before the signature. */
export function signTransaction(type: number, fields: readonly RlpItem[], { key }: Sender): Uint8Array {
  const hash = keccak256(concatBytes(Uint8Array.of(type), encodeRlp(fields)))
  return concatBytes(Uint8Array.of(type), encodeRlp([...fields, ...sign(hash, key)]))
}

/** Parity, r and s. */
export function sign(hash: Uint8Array, key: Uint8Array): Uint8Array[] {
  const { signature, recid } = secp256k1.ecdsaSign(hash, key)
  const integer = (bytes: Uint8Array) => toMinimalBytes(BigInt(bytesToHex(bytes)))
  return [toMinimalBytes(recid), integer(signature.subarray(0, 32)), integer(signature.subarray(32))]
}
