/** Blocks of tests as a consensus client gives them. */
import { encodeRlpListOfEncoded, rlpListSpans, rlpSpanAt } from '../../src/primitives/rlp.js'
import { payloadJson } from '../../src/sources/ingest/engine/payload.js'
import type { MadeBlock } from './chainMaker.js'

/** ExecutionPayload of a block without an access list. */
export function payloadOf({ rlp }: Pick<MadeBlock, 'rlp'>): Record<string, unknown> {
  const parts = rlpListSpans(rlp, rlpSpanAt(rlp, 0)).map(({ start, end }) => rlp.subarray(start, end))
  const [header, ...body] = parts
  return { ...payloadJson(header as Uint8Array, encodeRlpListOfEncoded(body), 'prague') }
}
