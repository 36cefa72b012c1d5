import type { ForkSchedule } from '../chain/forks.js'
import { decodeHeader } from '../chain/header.js'
import { checkSentTransaction } from '../evm/sentTransaction.js'
import { bytesToHex } from '../primitives/bytes.js'
import { FaultError } from '../primitives/faults.js'
import type { SendTransaction } from '../primitives/sendTransaction.js'
import type { ChainRows } from '../store/chainRows.js'
import { UpstreamFailure } from '../upstream/line.js'
import { sendRawTransaction } from '../upstream/sendRawTransaction.js'
import { NodeError } from '../upstream/upstream.js'
import { NoAnswerError, type Upstreams } from '../upstream/upstreams.js'

/** JSON-RPC's code for an error without one that is a number. */
const unknownCode = -32_000

/**
 * Makes what sends transactions: those that may be valid by the rules of the head go to every upstream that answers.
 * Each has `timeoutMs`.
 */
export function transactionSender(
  store: Pick<ChainRows, 'readHead' | 'readHeader'>,
  schedule: ForkSchedule,
  upstreams: Upstreams,
  timeoutMs: number,
): SendTransaction {
  const forkOfHead = () => {
    const head = store.readHead()
    const row = head && store.readHeader(head.hash)
    if (row === undefined) throw new Error('the store has no head')
    const { number, timestamp, difficulty } = decodeHeader(row)
    return schedule.forkAt(number, timestamp, difficulty === 0n || schedule.isMerged(0n))
  }
  return async (raw) => {
    const hash = checkSentTransaction(raw, forkOfHead(), schedule.config.chainId)
    try {
      const deadline = performance.now() + timeoutMs
      await sendRawTransaction(upstreams, bytesToHex(raw), bytesToHex(hash), deadline)
      return hash
    } catch (error) {
      if (error instanceof NodeError) {
        const { message, data } = error
        const code = Number.isSafeInteger(error.code) ? error.code : unknownCode
        throw new FaultError({ kind: 'UpstreamError', code, message, data })
      }
      if (!(error instanceof NoAnswerError || error instanceof UpstreamFailure)) throw error
      throw new FaultError({ kind: 'UpstreamsFailed', why: error.message })
    }
  }
}
