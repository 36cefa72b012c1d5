/**
 * Decodes the first argument of eth_simulateV1, with go-ethereum's rules and messages (internal/ethapi/simulate.go).
 */
import type {
  BlockStateCalls,
  SimulatedBlockOverrides,
  SimulatedCall,
  SimulationRequest,
  Withdrawal,
} from '../../../execution/evm/simulate/simulationRequest.js'
import { FaultError } from '../../../primitives/faults.js'
import { typeName } from '../../../primitives/jsonType.js'
import type { Param } from '../method.js'
import {
  blockOverridesForm,
  callObject,
  type Decoder,
  type Decoders,
  listOf,
  Members,
  overriddenMembers,
  quantity64,
  stateOverrides,
  type Writable,
} from './callParams.js'
import { address, boolean, hash32, invalidArgument, ObjectForm, required } from './params.js'
import { booleanSchema, listSchema, nullable } from './schema.js'

/** The simulation without the block on which it is built. */
export type Simulation = Omit<SimulationRequest, 'block' | 'gasMax'>

/** Maximum blocks of a request, calls of a block, and calls of all blocks: go-ethereum's limits. */
export const blocksMax = 256
export const blockCallsMax = 5_000
const callsMax = 10_000
/** Maximum withdrawals of a block: 60 times as many as consensus allows (EIP-4895). */
const withdrawalsMax = 1_000

const withdrawalMembers: Decoders<Withdrawal> = {
  index: quantity64,
  validatorIndex: quantity64,
  address: address.decode,
  amount: quantity64,
}

const withdrawalForm = new ObjectForm('a withdrawal', Object.keys(withdrawalMembers), true)

const withdrawal: Decoder<Withdrawal> = (value, index) => {
  const members = new Members(value, index, withdrawalForm)
  const decoded: Writable<Withdrawal> = {
    index: 0n,
    validatorIndex: 0n,
    address: new Uint8Array(20),
    amount: 0n,
  }
  members.put<Withdrawal>(decoded, withdrawalMembers)
  return decoded
}

const blockMembers: Decoders<SimulatedBlockOverrides> = {
  ...overriddenMembers,
  beaconRoot: hash32.decode,
  withdrawals: listOf(withdrawal, 'a list of withdrawals', withdrawalsMax),
}

const blockOverrides: Decoder<SimulatedBlockOverrides> = (value, index) => {
  const overrides: Writable<SimulatedBlockOverrides> = {}
  new Members(value, index, blockOverridesForm).put<SimulatedBlockOverrides>(overrides, blockMembers)
  return overrides
}

const blockForm = new ObjectForm('a block', ['blockOverrides', 'stateOverrides', 'calls'])
const simulationForm = new ObjectForm('a simulation', [
  'blockStateCalls',
  'validation',
  'traceTransfers',
  'returnFullTransactions',
])

/** `budget` is the number of calls that the remaining blocks may still have. */
function blockOf(value: unknown, index: number, budget: { calls: number }): BlockStateCalls {
  const members = new Members(value, index, blockForm)
  const calls: Decoder<readonly SimulatedCall[]> = (value, index) => {
    if (!Array.isArray(value)) throw invalidArgument(index, `want a list of calls, got ${typeName(value)}`)
    const { length } = value
    if (length > blockCallsMax) throw tooMuch(`too many calls in block: ${length} > ${blockCallsMax}`)
    budget.calls -= length
    if (budget.calls < 0) throw tooMuch(`too many calls: ${callsMax - budget.calls} > ${callsMax}`)
    return value.map((call) => callObject.decode(call ?? {}, index))
  }
  return {
    blockOverrides: members.get('blockOverrides', blockOverrides) ?? {},
    stateOverrides: members.get('stateOverrides', stateOverrides.decode) ?? [],
    calls: members.get('calls', calls) ?? [],
  }
}

/** The blocks to simulate, with their overrides and calls, and the options. */
export const simulation: Param<Simulation> = required(
  (value, index) => {
    const members = new Members(value, index, simulationForm)
    const budget = { calls: callsMax }
    const blocks: Decoder<readonly BlockStateCalls[]> = (value, index) => {
      if (!Array.isArray(value)) throw invalidArgument(index, `want a list of blocks, got ${typeName(value)}`)
      if (value.length > blocksMax) throw tooMuch('too many blocks')
      return value.map((block) => blockOf(block ?? {}, index, budget))
    }
    const decoded = members.get('blockStateCalls', blocks) ?? []
    if (decoded.length === 0) {
      throw new FaultError({ kind: 'SimulationRefused', rule: 'empty', why: 'empty input' })
    }
    return {
      blocks: decoded,
      validates: members.get('validation', boolean.decode) ?? false,
      tracesTransfers: members.get('traceTransfers', boolean.decode) ?? false,
      isFull: members.get('returnFullTransactions', boolean.decode) ?? false,
    }
  },
  {
    type: 'object',
    title: 'simulation',
    properties: {
      blockStateCalls: listSchema({ type: 'object' }),
      validation: nullable(booleanSchema),
      traceTransfers: nullable(booleanSchema),
      returnFullTransactions: nullable(booleanSchema),
    },
  },
)

function tooMuch(why: string): FaultError {
  return new FaultError({ kind: 'SimulationRefused', rule: 'size', why })
}
