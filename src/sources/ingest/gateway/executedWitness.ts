/**
 * Executes a block on its witness (`debug_executionWitness`): trie nodes of the state after its parent, code, and
 * earlier headers. Trusts nothing in it: nodes and code count under their own hashes, nodes from the parent's state
 * root downwards, headers from the parent backwards. The result is compared with the block's header.
 */

import { BlockJsonError, headerRlpFromJson } from '../../../data/chain/blockFromJson.js'
import type { ForkSchedule } from '../../../data/chain/forks.js'
import { decodeHeader, type Header, headerHash, isProofOfStake } from '../../../data/chain/header.js'
import { decodeAccount } from '../../../data/state/account.js'
import type { StateView } from '../../../data/state/stateView.js'
import { nodeRlp } from '../../../data/state/trieNode.js'
import { provedState } from '../../../data/state/trieState.js'
import type { Change } from '../../../data/store/blockDiff.js'
import type { FetchedReceipts } from '../../../data/store/gatewayWriter.js'
import { senderAt, senderBytes, transactionHashes } from '../../../data/store/storedBlock.js'
import type { AccountChange, BlockChanges } from '../../../data/store/storedValues.js'
import { BlockExecutor, type ExecutedBlock } from '../../../execution/evm/blocks/executeBlock.js'
import { RecoveredKeys } from '../../../execution/evm/transactions/recoveredKeys.js'
import {
  bytesOfHex,
  bytesToHex,
  concatBytes,
  type Hash32,
  joinBytes,
  latin1Key,
  writeUint32,
} from '../../../primitives/bytes.js'
import { InvalidBlockError } from '../../../primitives/faults.js'
import { keccak256 } from '../../../primitives/keccak.js'
import { decodeRlpList, encodeRlp, RlpError } from '../../../primitives/rlp.js'
import { compareWithHeader } from '../blocks/blockRules.js'
import { witnessMethods } from '../nodes/askedParts.js'
import { LackError, LieError } from '../nodes/lie.js'
import type { ProvedBlock } from './blockFetcher.js'

/** A block that was executed, and the data needed to store its changes. */
interface WitnessedBlock {
  /** A row of the store. */
  readonly receipts: FetchedReceipts
  readonly accessList: Uint8Array | undefined
  readonly changes: BlockChanges
  /** Trie nodes that were read, and those of the state after the block. */
  readonly nodes: readonly Change[]
  readonly codes: readonly Change[]
}

interface WitnessContext {
  readonly parent: Header
  /** Hash of a canonical block; undefined if it is not stored. */
  readonly hashAt: (number: number) => Hash32 | undefined
  /** The stored slots of an account: if it loses all slots, no trie names them. */
  readonly slotsOf: (address: Uint8Array) => Iterable<Hash32>
}

export class WitnessExecutor {
  readonly #schedule: ForkSchedule
  readonly #keys = new RecoveredKeys()
  readonly #executor: BlockExecutor

  constructor(schedule: ForkSchedule, isDevelopment: boolean) {
    this.#schedule = schedule
    this.#executor = new BlockExecutor(schedule, this.#keys, { isDevelopment })
  }

  /**
   * Throws {@link LackError} for an incomplete witness. Throws {@link LieError} for an unreadable one, or for a false
   * header in the place of an ancestor. Throws InvalidBlockError if the result of the execution differs from the
   * block's header.
   */
  execute(answer: unknown, block: ProvedBlock, context: WitnessContext): WitnessedBlock {
    const { header, headerRlp, bodyRlp, senders } = block
    const witness = new GivenParts(answer, header)
    const { parent } = context
    const state: StateView = {
      ...provedState(witness, parent.stateRoot, header.parentHash),
      slotsOf: context.slotsOf,
    }
    const { terminalTotalDifficulty } = this.#schedule.config
    const isMerged =
      terminalTotalDifficulty !== undefined && (this.#schedule.isMerged(0n) || isProofOfStake(header))
    const fork = this.#schedule.forkAt(header.number, header.timestamp, isMerged)
    const items = [decodeRlpList(headerRlp), ...decodeRlpList(bodyRlp)]
    const hashAt = (number: number) => witness.hashAt(number) ?? context.hashAt(number)
    this.#keys.hold(senderRecords(senders))
    const executed = this.#executor.execute(items, fork, state, (number) => {
      const hash = hashAt(number)
      if (hash === undefined && number >= 0 && number < header.number) {
        throw lacking(header.number, `the header of block ${number}`)
      }
      return hash
    })
    try {
      compareWithHeader(header, executed)
    } catch (error) {
      if (!(error instanceof InvalidBlockError)) throw error
      throw new InvalidBlockError(
        `block ${header.number} (${bytesToHex(block.hash)}) is invalid: ${error.message}`,
      )
    }
    return {
      receipts: { row: encodeRlp(executed.receipts) },
      accessList: executed.blockAccessList,
      changes: executedChanges(executed),
      nodes: [
        ...witness.used.nodes.values(),
        ...executed.changes.nodes.map(([hash, node]): Change => [hash, nodeRlp(node)]),
      ],
      codes: [...witness.used.codes.values(), ...executed.changes.code],
    }
  }
}

/** Nodes, code and headers of a witness by their hashes, and the ones that were used. */
class GivenParts {
  readonly used = { nodes: new Map<string, Change>(), codes: new Map<string, Change>() }
  readonly #nodes: ReadonlyMap<string, Change>
  readonly #codes: ReadonlyMap<string, Change>
  readonly #hashes = new Map<number, Hash32>()
  readonly #number: number

  constructor(answer: unknown, { number, parentHash }: Header) {
    const { state, codes, headers } = (answer ?? {}) as Record<string, unknown>
    this.#number = number
    this.#nodes = byHash(listOf(state, number))
    this.#codes = byHash(listOf(codes, number))
    const given = new Map(
      listOf(headers, number).map((each) => {
        const rlp = headerOf(each)
        return [latin1Key(headerHash(rlp)), rlp]
      }),
    )
    let hash = parentHash
    let at = number - 1
    for (; ; at--) {
      const rlp = given.get(latin1Key(hash))
      if (rlp === undefined) break
      given.delete(latin1Key(hash))
      this.#hashes.set(at, hash)
      hash = decodeHeader(rlp).parentHash
    }
    // Below a missing header, the remaining ones are not used.
    for (const rlp of given.values()) {
      if (decodeHeader(rlp).number > at) {
        throw new LieError(`a witness of block ${number} with a header that none of its ancestors has`)
      }
    }
  }

  hashAt(number: number): Hash32 | undefined {
    return this.#hashes.get(number)
  }

  readNode(hash: Uint8Array): Uint8Array {
    return this.#use('nodes', this.#nodes, 'node', hash)
  }

  readCode(hash: Hash32): Uint8Array {
    return this.#use('codes', this.#codes, 'code', hash)
  }

  knowsCode(): boolean {
    return true
  }

  #use(
    kind: 'nodes' | 'codes',
    given: ReadonlyMap<string, Change>,
    what: string,
    hash: Uint8Array,
  ): Uint8Array {
    const key = latin1Key(hash)
    const part = given.get(key)
    if (part === undefined) throw lacking(this.#number, `the ${what} ${bytesToHex(hash)}`)
    this.used[kind].set(key, part)
    return part[1]
  }
}

function executedChanges({ changes }: ExecutedBlock): BlockChanges {
  const codes = new Map(changes.code.map((change) => [latin1Key(change[0]), change]))
  const slots = new Map<string, Map<string, Uint8Array>>()
  const slotsOf = (owner: string) => {
    const own = slots.get(owner) ?? new Map<string, Uint8Array>()
    slots.set(owner, own)
    return own
  }
  for (const [key, value] of changes.slots) {
    slotsOf(latin1Key(key.subarray(0, 20))).set(latin1Key(key.subarray(20)), value)
  }
  return new Map(
    changes.accounts.map(([address, row]): [string, AccountChange] => {
      const owner = latin1Key(address)
      const code = row.length === 0 ? undefined : codes.get(latin1Key(decodeAccount(row).codeHash))
      return [owner, { address, after: () => row, code, slots: slotsOf(owner) }]
    }),
  )
}

/**
 * The argument of {@link RecoveredKeys.hold}, from sender (20 bytes) ‖ transaction hash (32 bytes) of each transaction.
 */
function senderRecords(senders: Uint8Array): Uint8Array {
  const head = new Uint8Array(4)
  writeUint32(head, senders.length / senderBytes, 0)
  const records = Array.from(transactionHashes(senders), ([index, hash]) =>
    concatBytes(hash, senderAt(senders, index)),
  )
  return joinBytes([head, ...records])
}

function byHash(list: readonly unknown[]): ReadonlyMap<string, Change> {
  return new Map(
    list.map((each) => {
      const bytes = partOf(each)
      const hash = keccak256(bytes)
      return [latin1Key(hash), [hash, bytes]]
    }),
  )
}

/** RLP of a header of a witness, which no caller chooses: one that cannot be read is a lie. */
function headerOf(value: unknown): Uint8Array {
  try {
    const rlp = typeof value === 'string' ? partOf(value) : headerRlpFromJson(value)
    decodeHeader(rlp)
    return rlp
  } catch (error) {
    if (!(error instanceof RlpError || error instanceof BlockJsonError)) throw error
    throw new LieError(`a witness with a header that cannot be read: ${error.message}`)
  }
}

function partOf(value: unknown): Uint8Array {
  const bytes = bytesOfHex(value)
  if (bytes === undefined) throw new LieError('a part of a witness that is not hex')
  return bytes
}

function listOf(value: unknown, number: number): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw lacking(number, 'its lists')
}

function lacking(number: number, what: string): LackError {
  return new LackError(witnessMethods, `its witness of block ${number} lacks ${what}`)
}
