import { type BlockOptions, createBlockFromBytesArray } from '@ethereumjs/block'
import { Address as EvmAddress } from '@ethereumjs/util'
import { runBlock } from '@ethereumjs/vm'
import { ForkSchedule, parseGenesisConfig } from '../../src/data/chain/forks.js'
import { decodeHeader } from '../../src/data/chain/header.js'
import { decodeAccount } from '../../src/data/state/account.js'
import { historicalState, type StateView } from '../../src/data/state/stateView.js'
import type { ChainReader } from '../../src/data/store/chainReader.js'
import type { StateChanges } from '../../src/execution/evm/blocks/stateChanges.js'
import type { AccountOverride } from '../../src/execution/evm/messages/executionRequest.js'
import { type Address, bytesToBigInt, bytesToHex, padLeft } from '../../src/primitives/bytes.js'
import { decodeRlpList } from '../../src/primitives/rlp.js'
import { createForkEngine, type ForkEngine } from '../library/forkEngine.js'
import { JournaledState } from '../library/journaledState.js'

type BlockItems = Parameters<typeof createBlockFromBytesArray>[0]

/** Executes stored blocks once more, as the library comes, to know the state in their midst. */
export class BlockReplay {
  readonly #schedule: ForkSchedule
  readonly #engines = new Map<string, ForkEngine>()
  readonly #store: ChainReader

  constructor(store: ChainReader) {
    this.#store = store
    const identity = store.readIdentity()
    this.#schedule = new ForkSchedule(parseGenesisConfig(JSON.parse(identity?.config ?? '{}')))
  }

  /**
   * For each transaction of a canonical block: the differences of the state before it from the state after the block's
   * parent.
   */
  async statesBefore(number: number): Promise<AccountOverride[][]> {
    const store = this.#store
    const hash = store.readCanonicalHash(number)
    const parentHash = store.readCanonicalHash(number - 1)
    const rows = hash && [store.readHeader(hash), store.readBody(hash)]
    const parentRow = parentHash && store.readHeader(parentHash)
    if (!rows?.[0] || !rows[1] || !parentRow) throw new RangeError(`block ${number} is missing`)
    const [headerRow, bodyRow] = rows
    const engine = await this.#engineFor(headerRow, store.readTotalDifficulty(parentHash))
    const below = historicalState(store, number - 1, decodeHeader(parentRow).stateRoot)
    const state = new JournaledState(below)
    engine.prepare(state, (ancestor) => store.readCanonicalHash(ancestor))
    const items = [decodeRlpList(headerRow), ...decodeRlpList(bodyRow)] as unknown as BlockItems
    const options: BlockOptions = { common: engine.common, freeze: false }
    const block = createBlockFromBytesArray(items, options)
    const senders = (hash && store.readBlock(hash)?.senders) ?? new Uint8Array(0)
    for (const [index, transaction] of block.transactions.entries()) {
      // To recover a known sender takes longer than to execute the transaction.
      const sender = new EvmAddress(senders.slice(index * 52, index * 52 + 20))
      transaction.getSenderAddress = () => sender
    }
    const states: AccountOverride[][] = []
    const beforeTx = (_transaction: unknown, goOn?: () => void) => {
      states.push(toOverrides(state.buildChanges(), below))
      goOn?.()
    }
    engine.vm.events.on('beforeTx', beforeTx)
    await runBlock(engine.vm, { block, generate: true, skipBlockValidation: true })
    engine.vm.events.off('beforeTx', beforeTx)
    return states
  }

  async #engineFor(headerRow: Uint8Array, parentTotal: Uint8Array | undefined): Promise<ForkEngine> {
    const { number, timestamp, difficulty } = decodeHeader(headerRow)
    const isMerged =
      difficulty === 0n || this.#schedule.isMerged(bytesToBigInt(parentTotal ?? new Uint8Array(0)))
    const fork = this.#schedule.forkAt(number, timestamp, isMerged)
    let engine = this.#engines.get(fork)
    if (engine === undefined) {
      engine = await createForkEngine(this.#schedule, fork)
      this.#engines.set(fork, engine)
    }
    return engine
  }
}

/** Precompiled contracts may have ether, but as overrides they would be no contracts. */
function isPrecompile(address: Uint8Array): boolean {
  return bytesToBigInt(address) <= 0x1ffn
}

function toOverrides({ accounts, slots, code }: StateChanges, below: StateView): AccountOverride[] {
  const codes = new Map(code.map(([hash, bytes]) => [bytesToHex(hash), bytes]))
  const slotsOf = new Map<string, [Uint8Array, Uint8Array][]>()
  for (const [key, value] of slots) {
    const owner = bytesToHex(key.subarray(0, 20))
    const changed = slotsOf.get(owner) ?? []
    changed.push([key.subarray(20), padLeft(value, 32)])
    slotsOf.set(owner, changed)
  }
  return accounts
    .filter(([address]) => !isPrecompile(address))
    .map(([address, row]) => {
      const stateDiff = slotsOf.get(bytesToHex(address)) ?? []
      if (row.length === 0) return { address, nonce: 0n, balance: 0n, code: new Uint8Array(0), state: [] }
      const { nonce, balance, codeHash } = decodeAccount(row)
      const codeBefore = below.account(address as Address)?.codeHash
      const isSame = codeBefore !== undefined && Buffer.compare(codeBefore, codeHash) === 0
      const codeNow = codes.get(bytesToHex(codeHash)) ?? below.code(codeHash) ?? new Uint8Array(0)
      return { address, nonce, balance, stateDiff, ...(isSame ? {} : { code: codeNow }) }
    })
}
