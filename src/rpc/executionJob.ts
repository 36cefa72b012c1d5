/** From the arguments of a method to an execution job and back. The one place where methods hand messages over. */
import type { BlockId } from '../chain/blockId.js'
import type { AccountOverride, BlockOverrides, ExecutionRequest } from '../evm/execution.js'
import type { Jobs } from '../pool/jobs.js'
import { FaultError } from '../primitives/faults.js'
import type { Caller } from './caller.js'
import type { CallObject } from './callParams.js'
import type { Network } from './network.js'
import { stateBlock } from './stateBlock.js'

type ExecutionJob = 'call' | 'estimate' | 'accessList'

/** What a method was asked to execute. */
export interface ExecutionCall {
  readonly call: CallObject
  /** The second argument of every method that executes. */
  readonly block: BlockId
  readonly stateOverrides?: readonly AccountOverride[] | undefined
  readonly blockOverrides?: BlockOverrides | undefined
  /** Gas of a message that names none; the cap where undefined. */
  readonly gasDefault?: bigint
  readonly marginBps?: number
}

/**
 * Runs a message on the pool. Throws and rejects with FaultError: an unknown block, another chain's id, and what
 * the job finds.
 */
export function runExecution<N extends ExecutionJob>(
  network: Network,
  name: N,
  { call, block, stateOverrides, blockOverrides, gasDefault, marginBps }: ExecutionCall,
  caller: Caller,
): Promise<Jobs[N]['result']> {
  const { chain } = network
  checkChainId(call.chainId, BigInt(chain.identity.chainId))
  const { number, hash, isPending } = stateBlock(chain, block, 1)
  // Specification, section 8: the cap follows the current block.
  const gasMax = chain.head.header.gasLimit * BigInt(network.execution.gasCapBlocks)
  const request: ExecutionRequest = {
    block: { number, hash, isPending },
    message: call.message,
    gasDefault: gasDefault ?? gasMax,
    gasMax,
    ...(stateOverrides === undefined ? {} : { stateOverrides }),
    ...(blockOverrides === undefined ? {} : { blockOverrides }),
    ...(marginBps === undefined ? {} : { marginBps }),
  }
  return network.jobs.run(name, request, caller)
}

function checkChainId(have: bigint | undefined, want: bigint): void {
  if (have === undefined || have === want) return
  const why = `chainId does not match node's (have=${have}, want=${want})`
  throw new FaultError({ kind: 'MessageRefused', why })
}
