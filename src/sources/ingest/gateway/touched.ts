/** What a call may read, as far as the call and an unproved answer to its eth_createAccessList say. */
import { type Address, bytesOfHex, bytesToHex, type Hash32 } from '../../../primitives/bytes.js'

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
    const address = bytesOfHex(entry?.address, 20)
    const keys = Array.isArray(entry?.storageKeys) ? entry.storageKeys.slice(0, aheadMax) : []
    const slots = keys.flatMap((key) => bytesOfHex(key, 32) ?? []) as unknown as Hash32[]
    return address === undefined ? [] : [{ address: address as Address, slots }]
  })
}
