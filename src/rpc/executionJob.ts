/** From the arguments of a method to the arguments of an execution job. */
import type { BlockId } from '../chain/blockId.js'
import type { AccountOverride, BlockOverrides, ExecutionRequest } from '../evm/executionRequest.js'
import { FaultError } from '../primitives/faults.js'
import type { CallObject } from './callParams.js'
import type { JobNetwork } from './network.js'
import { stateBlock } from './stateBlock.js'

/** Decoded arguments of a method that executes a message. */
export interface ExecutionCall {
  readonly call: CallObject
  /** The second argument of every method that executes. */
  readonly block: BlockId
  readonly stateOverrides?: readonly AccountOverride[] | undefined
  readonly blockOverrides?: BlockOverrides | undefined
  /** Gas of a message without `gas`; undefined: the cap. */
  readonly gasDefault?: bigint
  readonly marginBps?: number
}

/** The arguments of the job. Throws FaultError for an unknown block, or the id of another chain. */
export function executionRequest(
  { chain, execution }: JobNetwork,
  { call, block, stateOverrides, blockOverrides, gasDefault, marginBps }: ExecutionCall,
): ExecutionRequest {
  checkChainId(call.chainId, BigInt(chain.identity.chainId))
  const { number, hash, isPending } = stateBlock(chain, block, 1)
  // The cap follows the current block's gas limit.
  const gasMax = chain.head.header.gasLimit * BigInt(execution.gasCapBlocks)
  return {
    block: { number, hash, isPending },
    message: call.message,
    gasDefault: gasDefault ?? gasMax,
    gasMax,
    ...(stateOverrides === undefined ? {} : { stateOverrides }),
    ...(blockOverrides === undefined ? {} : { blockOverrides }),
    ...(marginBps === undefined ? {} : { marginBps }),
  }
}

function checkChainId(have: bigint | undefined, want: bigint): void {
  if (have === undefined || have === want) return
  const why = `chainId does not match node's (have=${have}, want=${want})`
  throw new FaultError({ kind: 'MessageRefused', why })
}
