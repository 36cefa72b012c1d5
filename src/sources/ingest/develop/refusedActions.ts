/** Methods of tools that a developer chain refuses, each with the reason and the alternative. */
import { type FaultError, messageRefused } from '../../../primitives/faults.js'
import type { ToolPrefix } from '../../../primitives/upstreamCalls.js'

/** Why, and what to do. */
type Reason = readonly [why: string, instead: string]

export const refusedActions = {
  setChainId: [
    'the genesis and signed transactions have the chain id',
    'begin another chain, with tidegate dev --chain-id N',
  ],
  setMinGasPrice: [
    'fees follow the base fee (EIP-1559)',
    'set that of the next block with anvil_setNextBlockBaseFeePerGas',
  ],
  setRpcUrl: ['a node is named with a block of its chain', 'name both to anvil_reset, as "forking"'],
} as const satisfies Readonly<Record<string, Reason>>

export const notAFork: Reason = [
  'this chain is no fork',
  'begin a chain on another base, with tidegate dev --fork URL@BLOCK',
]

export function refuseAction(action: keyof typeof refusedActions, tool: ToolPrefix): never {
  throw refusal(`${tool}_${action}`, refusedActions[action])
}

/** The one form of a refusal: the name, the reason, and the alternative. */
export function refusal(name: string, [why, instead]: Reason): FaultError {
  return messageRefused(`${name} is not possible here: ${why}; ${instead}`)
}
