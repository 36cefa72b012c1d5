/** Converts the arguments of a method to the arguments of an execution job. */

import type { BlockId } from '../../../data/chain/chainBlocks.js'
import { messageGasMax } from '../../../data/chain/intrinsicGas.js'
import type {
  AccountOverride,
  BlockOverrides,
  ExecutionRequest,
} from '../../../execution/evm/messages/executionRequest.js'
import { equalBytes, type Hash32, toAddress, toHash32 } from '../../../primitives/bytes.js'
import { messageRefused } from '../../../primitives/faults.js'
import { type Json, UncacheableResult } from '../method.js'
import type { JobNetwork } from '../network.js'
import type { CallObject } from './callParams.js'
import { stateBlock } from './stateBlock.js'

interface ExecutionCall {
  readonly call: CallObject
  /** The second argument of every method that executes. */
  readonly block: BlockId
  readonly stateOverrides?: readonly AccountOverride[] | undefined
  readonly blockOverrides?: BlockOverrides | undefined
  /** Whether a message without `gas` gets the gas limit of its block, as in estimates; otherwise it gets the cap. */
  readonly hasBlockGas?: boolean
  readonly marginBps?: number
}

/** The arguments of the job. Throws FaultError for an unknown block, or the id of another chain. */
export function executionRequest(
  { chain, limits }: JobNetwork,
  { call, block, stateOverrides, blockOverrides, hasBlockGas, marginBps }: ExecutionCall,
): ExecutionRequest {
  checkChainId(call.chainId, BigInt(chain.identity.chainId))
  const { number, hash, isPending } = stateBlock(chain, block, 1)
  // The cap follows the current block's gas limit.
  const gasMax = messageGasMax(chain.head.header.gasLimit, limits.executionGasBlocks)
  return {
    block: { number, hash, isPending },
    message: call.message,
    gasDefault: (hasBlockGas && gasLimitOf(chain, hash)) || gasMax,
    gasMax,
    ...(stateOverrides === undefined ? {} : { stateOverrides }),
    ...(blockOverrides === undefined ? {} : { blockOverrides }),
    ...(marginBps === undefined ? {} : { marginBps }),
  }
}

/** The gas limit of a block; the pending block on it has the same. */
function gasLimitOf(chain: JobNetwork['chain'], hash: Hash32): bigint | undefined {
  const { head } = chain
  return (equalBytes(head.hash, hash) ? head.header : chain.readHeader(hash))?.gasLimit
}

/**
 * Runs a creation at the pending block with the nonce after the sender's waiting transactions of this node. The new
 * contract's address depends on the nonce. Undefined if the nonce does not matter, and if this node sends no
 * transactions.
 */
export function runAfterWaiting(
  { state, upstreamCalls }: JobNetwork,
  request: ExecutionRequest,
  run: (request: ExecutionRequest) => Promise<Json>,
): Promise<UncacheableResult> | undefined {
  const { block, message, stateOverrides = [] } = request
  const { from, to } = message
  if (upstreamCalls === undefined || !block.isPending || from === undefined || to !== undefined)
    return undefined
  const own = stateOverrides.find(({ address }) => equalBytes(address, from))
  if (own?.nonce !== undefined) return undefined
  const sender = toAddress(from)
  const nonce = state.readAccount({ ...block, hash: toHash32(block.hash) }, sender)?.nonce ?? 0n
  return upstreamCalls.waiting(sender, nonce).then(async (count) => {
    const others = stateOverrides.filter((each) => each !== own)
    const after = { ...own, address: from, nonce: nonce + BigInt(count) }
    return new UncacheableResult(await run({ ...request, stateOverrides: [...others, after] }))
  })
}

export function checkChainId(have: bigint | undefined, want: bigint): void {
  if (have === undefined || have === want) return
  const why = `chainId does not match node's (have=${have}, want=${want})`
  throw messageRefused(why)
}
