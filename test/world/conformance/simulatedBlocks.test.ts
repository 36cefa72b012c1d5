// @shares
/**
 * Every block of the demo chain and of the recorded chain, simulated on its parent from the messages of its
 * transactions. Other programs made these blocks, so their roots are the expected results of a simulation.
 */
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { BlockRowsReader } from '../../../src/data/chain/blockRows.js'
import type { Header } from '../../../src/data/chain/header.js'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { Simulation } from '../../../src/execution/evm/simulate/simulation.js'
import type {
  BlockStateCalls,
  SimulationRequest,
} from '../../../src/execution/evm/simulate/simulationRequest.js'
import { bytesToBigInt, bytesToHex, toQuantity } from '../../../src/primitives/bytes.js'
import { rlpBytes, rlpList } from '../../../src/primitives/rlp.js'
import { withoutRecordings } from '../../service/fixtures.js'
import {
  demoStorePath,
  recordedStorePath,
  type StoredMessage,
  storedMessages,
} from '../../store/storedMessages.js'
import { goOn, limits } from '../../unit/execution/evm/demoExecution.js'

interface StoredBlock {
  readonly header: Header
  readonly hasUncles: boolean
  /** Whether the receipts of the block have the types that a simulation gives them: it knows no type 1. */
  readonly hasSameTypes: boolean
  readonly described: BlockStateCalls
}

/** The blocks of a chain as a simulation describes them. */
function readBlocks(store: ChainReader): StoredBlock[] {
  const messages = new Map<number, StoredMessage[]>()
  for (const message of storedMessages(store)) {
    const ofBlock = messages.get(message.header.number) ?? []
    ofBlock.push(message)
    messages.set(message.header.number, ofBlock)
  }
  const blocks: StoredBlock[] = []
  const reader = new BlockRowsReader(store)
  for (let number = 1; number <= (store.readHead()?.number ?? 0); number++) {
    const hash = store.readCanonicalHash(number)
    const rows = hash && reader.read(hash)
    if (rows === undefined) throw new Error(`block ${number} is missing`)
    const { header, withdrawals } = rows
    const inBlock = messages.get(number) ?? []
    blocks.push({
      header,
      hasUncles: rows.uncles.length > 0,
      hasSameTypes: !inBlock.some(({ message }) => message.gasPrice !== undefined && message.accessList),
      described: {
        blockOverrides: {
          time: BigInt(header.timestamp),
          gasLimit: header.gasLimit,
          feeRecipient: header.miner,
          prevRandao: header.mixHash,
          difficulty: header.difficulty,
          ...(header.parentBeaconBlockRoot && { beaconRoot: header.parentBeaconBlockRoot }),
          ...(withdrawals && {
            withdrawals: withdrawals.map((item) => {
              const [index, validatorIndex, address, amount] = rlpList(item).map(rlpBytes) as [
                Uint8Array,
                Uint8Array,
                Uint8Array,
                Uint8Array,
              ]
              return {
                index: bytesToBigInt(index),
                validatorIndex: bytesToBigInt(validatorIndex),
                address,
                amount: bytesToBigInt(amount),
              }
            }),
          }),
        },
        stateOverrides: [],
        calls: inBlock.map(({ message }) => ({ message, chainId: undefined })),
      },
    })
  }
  return blocks
}

function simulate(simulation: Simulation, base: Header, hash: Uint8Array, blocks: readonly StoredBlock[]) {
  const request: SimulationRequest = {
    block: { number: base.number, hash, isPending: false },
    blocks: blocks.map(({ described }) => described),
    validates: true,
    tracesTransfers: false,
    isFull: false,
    gasMax: 10n ** 12n,
  }
  return JSON.parse(Buffer.from(simulation.simulateJson(request, goOn)).toString())
}

/** Header fields that the execution of a block decides, in the form of a simulation. */
function outcomeOf({ header, hasSameTypes }: StoredBlock): Record<string, string> {
  const hashes = {
    stateRoot: header.stateRoot,
    logsBloom: header.logsBloom,
    ...(hasSameTypes && { receiptsRoot: header.receiptsRoot }),
    ...(header.withdrawalsRoot && { withdrawalsRoot: header.withdrawalsRoot }),
    ...(header.requestsHash && { requestsHash: header.requestsHash }),
  }
  const { number, gasUsed, baseFeePerGas, blobGasUsed, excessBlobGas } = header
  const quantities = { number, gasUsed, baseFeePerGas, blobGasUsed, excessBlobGas }
  return Object.fromEntries([
    ...Object.entries(hashes).map(([name, bytes]) => [name, bytesToHex(bytes)]),
    ...Object.entries(quantities).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, toQuantity(value)]],
    ),
  ])
}

function compare(t: Test, got: Record<string, unknown>, stored: StoredBlock): void {
  const expected = outcomeOf(stored)
  const seen = Object.fromEntries(Object.keys(expected).map((name) => [name, got[name]]))
  // An assertion each would be thousands of lines.
  if (!isDeepStrictEqual(seen, expected)) t.same(seen, expected, `block ${stored.header.number}`)
}

function compareAll(t: Test, store: ChainReader): void {
  const simulation = new Simulation(store, limits)
  let compared = 0
  for (const block of readBlocks(store)) {
    const { header, hasUncles } = block
    // A simulated block has no uncles to pay.
    if (hasUncles) continue
    const base = store.readHeader(header.parentHash)
    if (base === undefined) throw new Error(`block ${header.number - 1} is missing`)
    const parent = { ...header, number: header.number - 1 }
    const [simulated] = simulate(simulation, parent, header.parentHash, [block])
    compare(t, simulated, block)
    compared++
  }
  t.ok(compared > 30, `${compared} blocks compared`)
}

t.test('blocks of the demo chain', async (t) => {
  const store = ChainReader.open({ path: demoStorePath })
  t.teardown(() => store.close())
  compareAll(t, store)
  const blocks = readBlocks(store)
  // Without uncles, and before blocks begin with the hash of their parent, which simulated ones do not share.
  const from = blocks.findIndex(({ header }) => header.difficulty === 0n)
  const to = blocks.findIndex(({ header }) => header.requestsHash !== undefined)
  const chained = blocks.slice(from, to)
  const before = blocks[from - 1] as StoredBlock
  const parentHash = chained[0]?.header.parentHash as Uint8Array
  const all = simulate(new Simulation(store, limits), before.header, parentHash, chained)
  for (const [at, simulated] of all.entries()) compare(t, simulated, chained[at] as StoredBlock)
  t.ok(all.length > 50, `${all.length} blocks in one chain`)
})

t.test('blocks of the recorded chain', { skip: withoutRecordings }, async (t) => {
  const store = ChainReader.open({ path: recordedStorePath })
  t.teardown(() => store.close())
  compareAll(t, store)
})
