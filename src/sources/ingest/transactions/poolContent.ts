/**
 * Transactions sent from here that wait for a block, in the form of go-ethereum's pool (`txpool_` methods). *Pending*
 * are those that follow the nonce of their sender without a gap, *queued* the rest.
 */
import { pendingTransactionJson } from '../../../data/chain/transactionJson.js'
import type { SentTransaction } from '../../../execution/evm/transactions/sentTransaction.js'
import { toChecksumAddress } from '../../../primitives/addresses.js'
import { equalBytes } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import type { PoolQuestion } from '../../../primitives/upstreamCalls.js'

/** Limit of an answer's bytes: the same as for the answer of a batch. */
const answerBytesMax = 25_000_000

type Part = 'pending' | 'queued'

/**
 * The answer as JSON, for all senders or one. `nonceOf` returns the nonce of an account at the head. If that is
 * undefined, the lowest sent nonce counts as the next. Rejects with FaultError ResponseTooLarge.
 */
export async function poolJson(
  question: PoolQuestion,
  sent: readonly SentTransaction[],
  nonceOf: (sender: Uint8Array) => bigint | undefined | Promise<bigint | undefined>,
  sender: Uint8Array | undefined,
): Promise<Uint8Array> {
  const bySender = new Map<string, SentTransaction[]>()
  for (const tx of sent) {
    if (sender !== undefined && !equalBytes(tx.sender, sender)) continue
    const key = toChecksumAddress(tx.sender)
    bySender.set(key, [...(bySender.get(key) ?? []), tx])
  }
  const parts = {
    pending: new Map<string, SentTransaction[]>(),
    queued: new Map<string, SentTransaction[]>(),
  }
  for (const [key, list] of bySender) {
    list.sort((a, b) => (a.nonce < b.nonce ? -1 : 1))
    const [first] = list as [SentTransaction]
    let next = (await nonceOf(first.sender)) ?? first.nonce
    for (const tx of list) {
      // A block has used this nonce meanwhile.
      if (tx.nonce < next) continue
      const part = parts[tx.nonce === next ? 'pending' : 'queued']
      if (tx.nonce === next) next++
      part.set(key, [...(part.get(key) ?? []), tx])
    }
  }
  const text = (part: Part) => (question === 'status' ? countOf(parts[part]) : listOf(parts[part]))
  let bytes = 0
  const listOf = (part: ReadonlyMap<string, readonly SentTransaction[]>): string => {
    const senders = [...part].map(([key, list]) => {
      const own = list.map((tx) => {
        const shown = question === 'inspect' ? JSON.stringify(summaryOf(tx)) : jsonOf(tx)
        bytes += shown.length
        if (bytes > answerBytesMax) throw new FaultError({ kind: 'ResponseTooLarge' })
        return `"${tx.nonce}":${shown}`
      })
      return [key, `{${own.join()}}`] as const
    })
    if (sender !== undefined) return senders[0]?.[1] ?? '{}'
    return `{${senders.map(([key, own]) => `"${key}":${own}`).join()}}`
  }
  return Buffer.from(`{"pending":${text('pending')},"queued":${text('queued')}}`)
}

function countOf(part: ReadonlyMap<string, readonly SentTransaction[]>): string {
  let count = 0
  for (const list of part.values()) count += list.length
  return `"0x${count.toString(16)}"`
}

function jsonOf({ bytes, sender, hash }: SentTransaction): string {
  return Buffer.from(pendingTransactionJson(bytes, sender, hash)).toString('latin1')
}

/** go-ethereum's summary of a transaction (`txpool_inspect`). */
function summaryOf(tx: SentTransaction): string {
  const { to, value, gas, gasPrice } = JSON.parse(jsonOf(tx)) as Record<string, string | null>
  const amounts = `${BigInt(value ?? 0)} wei + ${BigInt(gas ?? 0)} gas × ${BigInt(gasPrice ?? 0)} wei`
  return `${to ? toChecksumAddress(Buffer.from(to.slice(2), 'hex')) : 'contract creation'}: ${amounts}`
}
