/**
 * Questions about the state after a block. They identify the block by its hash (EIP-1898), which is unique. A node that
 * takes only numbers is asked by number, where it may have another block.
 */
import { bytesToHex, type Hash32, toQuantity } from '../../../primitives/bytes.js'
import { RlpError } from '../../../primitives/rlp.js'
import { NodeError } from '../../upstream/upstream.js'
import { LieError, MovedError } from './lie.js'
import type { Attempt } from './proving.js'

/** A block. `number` is called for a node that takes no hashes; it returns undefined for an unknown block. */
export interface StateBlock {
  readonly hash: Hash32
  readonly number: () => number | undefined | Promise<number | undefined>
}

/** JSON-RPC codes for parameters that cannot be read. */
const formCodes: ReadonlySet<number> = new Set([-32602, -32600])
/** Words by which nodes report the same error under other codes, or that they lack a block. */
const formWords =
  /invalid (argument|param|block|request)|cannot unmarshal|hex string|unsupported|not support/i
const absentWords = /not found|unknown block|missing|pruned/i

/**
 * The result of `check` for a node's answer about the state after a block. Undefined if the node does not have the
 * state. Rejects as {@link Attempt.ask} does, and with the errors of `check`. A wrong answer about a number is no lie.
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

/**
 * The number of a block without a stored header, as a node reports it. It needs no check, because answers about the
 * block are checked.
 */
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
