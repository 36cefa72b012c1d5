/**
 * Questions about the state after a block. They identify the block by its hash (EIP-1898), which is unique. A node that
 * takes only numbers is asked by number, where it may have another block.
 */
import { bytesToHex, type Hash32, toQuantity } from '../../../primitives/bytes.js'
import { RlpError } from '../../../primitives/rlp.js'
import { NodeError } from '../../upstream/upstream.js'
import { LieError, MovedError } from './lie.js'
import type { Attempt } from './proving.js'

/** A block; `number` is called where a node takes no hashes, and has undefined where the block is not known. */
export interface StateBlock {
  readonly hash: Hash32
  readonly number: () => number | undefined | Promise<number | undefined>
}

/** JSON-RPC codes for parameters that cannot be read. */
const formCodes: ReadonlySet<number> = new Set([-32602, -32600])
/** Words with which nodes say the same under other codes, and words about a block that they do not have. */
const formWords =
  /invalid (argument|param|block|request)|cannot unmarshal|hex string|unsupported|not support/i
const absentWords = /not found|unknown block|missing|pruned/i

/**
 * What `check` returns for a node's answer about the state after a block; undefined where the node does not have it.
 * Rejects as {@link Attempt.ask} does, and as `check` throws; a wrong answer about a number is no lie.
 */
export async function askState<T>(
  method: string,
  params: readonly unknown[],
  { hash, number }: StateBlock,
  attempt: Attempt,
  check: (answer: unknown) => T | undefined | Promise<T | undefined>,
): Promise<T | undefined> {
  const byHash = `${method} by hash`
  let isRefused = false
  if (attempt.mayHave(byHash)) {
    try {
      const answer = await attempt.ask(method, [...params, { blockHash: bytesToHex(hash) }])
      return answer === null ? undefined : check(answer)
    } catch (error) {
      if (!(error instanceof NodeError) || !refusesForm(error)) throw error
      isRefused = true
    }
  }
  const at = quantityOf(await number()) ?? (await askNumber(hash, attempt))
  if (at === undefined) return undefined
  const answer = await attempt.ask(method, [...params, at])
  if (isRefused) attempt.node?.policy.lack(byHash)
  return answer === null ? undefined : checkedAt(at, async () => check(answer))
}

const quantityOf = (number: number | undefined) => (number === undefined ? undefined : toQuantity(number))

/** The number that a node says a block has, for a block whose header is not stored; what it is asked for is checked. */
async function askNumber(hash: Hash32, attempt: Attempt): Promise<string | undefined> {
  const block = await attempt.ask('eth_getBlockByHash', [bytesToHex(hash), false])
  const { number } = (block ?? {}) as { readonly number?: unknown }
  return typeof number === 'string' ? number : undefined
}

function refusesForm({ code, message }: NodeError): boolean {
  return (formCodes.has(code) || formWords.test(message)) && !absentWords.test(message)
}

async function checkedAt<T>(number: string, check: () => Promise<T>): Promise<T> {
  try {
    return await check()
  } catch (error) {
    if (!(error instanceof LieError || error instanceof RlpError)) throw error
    throw new MovedError(`asked for block ${number} by its number: ${error.message}`)
  }
}
