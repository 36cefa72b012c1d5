import type { Hash32 } from './bytes.js'

/**
 * Checks a signed transaction (EIP-2718 bytes; with its blobs, EIP-4844) and passes it on to upstreams; resolves to its
 * hash once one took it. The bytes must have a buffer of their own. Rejects with FaultError: MessageRefused for one that
 * no block may contain, UpstreamError with an upstream's refusal, UpstreamsFailed where none answered.
 */
export type SendTransaction = (raw: Uint8Array) => Promise<Hash32>
