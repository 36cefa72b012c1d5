/**
 * What a block does to the state, from its access list (EIP-7928): the values after the last change of each. The list
 * says nothing of storage roots.
 */
import type { AccountAccess, BlockAccessList, IndexedValue } from '../../../data/chain/blockAccessList.js'
import { decodeAccount, emptyAccount, encodeAccount, isEmptyAccount } from '../../../data/state/account.js'
import { unknownRoot } from '../../../data/store/heldRows.js'
import type { AccountChange, BlockChanges } from '../../../data/store/heldValues.js'
import { bytesToBigInt, type Hash32, latin1Key, noBytes } from '../../../primitives/bytes.js'
import { emptyCodeHash, keccak256 } from '../../../primitives/keccak.js'

export function listedChanges(list: BlockAccessList): BlockChanges {
  return new Map(list.map((access) => [latin1Key(access.address), accountChange(access)]))
}

function accountChange(access: AccountAccess): AccountChange {
  const { address, storageChanges, balanceChanges, nonceChanges, codeChanges } = access
  const slots = new Map(
    storageChanges.map(({ slot, changes }) => [latin1Key(slot), lastOf(changes) ?? noBytes]),
  )
  const [balance, nonce, bytes] = [balanceChanges, nonceChanges, codeChanges].map(lastOf)
  const codeHash = bytes && (bytes.length === 0 ? emptyCodeHash : keccak256(bytes))
  return {
    address,
    slots,
    code: bytes && codeHash && bytes.length > 0 ? [codeHash, bytes] : undefined,
    after(row) {
      const before = row.length === 0 ? emptyAccount : decodeAccount(row)
      // Whoever touches an empty account removes it (EIP-161); whether it was touched the list does not say.
      if (row.length > 0 && isEmptyAccount(before)) return undefined
      const after = {
        balance: balance === undefined ? before.balance : bytesToBigInt(balance),
        nonce: nonce === undefined ? before.nonce : bytesToBigInt(nonce),
        codeHash: codeHash ?? before.codeHash,
        storageRoot: slots.size === 0 ? before.storageRoot : (unknownRoot as Hash32),
      }
      return isEmptyAccount(after) ? noBytes : encodeAccount(after)
    },
  }
}

function lastOf(changes: readonly IndexedValue[]): Uint8Array | undefined {
  return changes.at(-1)?.value
}
