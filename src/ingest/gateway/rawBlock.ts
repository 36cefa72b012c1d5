/** Blocks and headers as upstreams and archives give them, before anything is checked. */
import { decodeHeader, type Header, headerHash } from '../../chain/header.js'
import { encodeRlpListOfEncoded, RlpError, rlpListSpans, rlpSpanAt } from '../../primitives/rlp.js'
import type { CanonicalHeader } from '../../store/gatewayWriter.js'
import { LieError } from './lie.js'

/** A block as RLP. */
export interface RawBlock {
  readonly header: Uint8Array
  /** RLP list: transactions, uncles and, since Shanghai, withdrawals. */
  readonly body: Uint8Array
}

/** Whether a block is one of proof of stake (EIP-3675). */
export function isProofOfStake({ difficulty, number }: Header): boolean {
  return difficulty === 0n && number > 0
}

/** A block's RLP as header and body. Throws RlpError. */
export function splitBlock(rlp: Uint8Array): RawBlock {
  const spans = rlpListSpans(rlp, rlpSpanAt(rlp, 0))
  const [header, ...rest] = spans.map(({ start, end }) => rlp.slice(start, end))
  if (header === undefined || rest.length < 2) throw new RlpError('a block has 3 or 4 parts', 0)
  return { header, body: encodeRlpListOfEncoded(rest) }
}

/** A header that is to be canonical. Throws {@link LieError} where it has another number. */
export function readCanonical(rlp: Uint8Array, number: number): CanonicalHeader {
  const header = decodeHeader(rlp)
  if (header.number !== number) throw new LieError(`block ${header.number} instead of ${number}`)
  return {
    number,
    hash: headerHash(rlp),
    header: rlp,
    totalDifficulty: undefined,
  }
}
