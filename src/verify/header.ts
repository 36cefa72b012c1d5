import { keccak_256 } from '@noble/hashes/sha3.js'
import { decodeRlpList, rlpBytes } from '../primitives/rlp.js'
import { hexOf, integerOf, readHex, refuse } from './bytes.js'

/** Facts of a header, verified by a trusted hash. */
export interface ProvedHeader {
  readonly hash: string
  readonly number: bigint
  readonly timestamp: bigint
  readonly stateRoot: Uint8Array
  readonly transactionsRoot: Uint8Array
  readonly receiptsRoot: Uint8Array
  /** Undefined before London. */
  readonly baseFee: bigint | undefined
}

/** Reads a header (yellow paper 4.4, EIP-1559). Throws {@link VerifyError} if it has another hash. */
export function readHeader(header: unknown, trustedHash: string): ProvedHeader {
  const rlp = readHex(header, 'header')
  const hash = hexOf(keccak_256(rlp))
  if (hash !== trustedHash) refuse(`the header is that of ${hash}, not of ${trustedHash}`)
  const fields = decodeRlpList(rlp)
  const field = (at: number) => rlpBytes(fields[at])
  return {
    hash,
    stateRoot: field(3),
    transactionsRoot: field(4),
    receiptsRoot: field(5),
    number: integerOf(field(8)),
    timestamp: integerOf(field(11)),
    baseFee: fields.length > 15 ? integerOf(field(15)) : undefined,
  }
}
