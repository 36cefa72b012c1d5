/** What a call may read, as far as the call and an unproved answer to its eth_createAccessList say. */
import { type Address, bytesToHex, digitsToBytes, type Hash32 } from '../../primitives/bytes.js'

/** Accounts of one guess, and slots of one account: more than most transactions touch. */
const aheadMax = 256

/** The sender of a call that names none. */
const zeroAddress = `0x${'0'.repeat(40)}`

/** Accounts and slots that a call and the answer to its eth_createAccessList name, and the block's `miner`, who is paid. */
export function touchedBy(
  { from, to }: Readonly<Record<string, unknown>>,
  answer: unknown,
  miner: Address,
): { readonly address: Address; readonly slots: readonly Hash32[] }[] {
  const { accessList } = (answer ?? {}) as { readonly accessList?: unknown }
  const entries = Array.isArray(accessList) ? accessList.slice(0, aheadMax) : []
  const own = [from ?? zeroAddress, to, bytesToHex(miner)].map((address) => ({ address, storageKeys: [] }))
  return [...own, ...entries].flatMap((entry: { address?: unknown; storageKeys?: unknown } | null) => {
    const address = hexOf(entry?.address, 20)
    const keys = Array.isArray(entry?.storageKeys) ? entry.storageKeys.slice(0, aheadMax) : []
    const slots = keys.flatMap((key) => hexOf(key, 32) ?? []) as unknown as Hash32[]
    return address === undefined ? [] : [{ address: address as Address, slots }]
  })
}

/** Bytes of a text of `length` bytes in hex; undefined for anything else. */
export function hexOf(value: unknown, length: number): Uint8Array | undefined {
  const digits = typeof value === 'string' && value.startsWith('0x') ? value.slice(2) : undefined
  const bytes = digits?.length === 2 * length ? digitsToBytes(digits) : undefined
  return bytes
}
