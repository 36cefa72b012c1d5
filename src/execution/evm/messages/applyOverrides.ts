import type { Kernel } from '../engine/kernel.js'
import type { AccountOverride } from './executionRequest.js'

const nobody = new Uint8Array(20)

/** Applies a caller's changes to the kernel's state, as a separate transaction that is never undone. */
export function applyOverrides(kernel: Kernel, overrides: readonly AccountOverride[]): void {
  kernel.begin(nobody, 0n, [])
  for (const { address, nonce, balance, code, state, stateDiff } of overrides) {
    const account = kernel.account(address)
    if (nonce !== undefined) kernel.setNonce(account, nonce)
    if (code !== undefined) kernel.setCode(account, code)
    if (balance !== undefined) kernel.setBalance(account, balance)
    const slots = state ?? stateDiff ?? []
    // Storage needs an existing account.
    if (state !== undefined || slots.length > 0) kernel.credit(account, 0n)
    if (state !== undefined) kernel.wipeStorage(account)
    for (const [slot, value] of slots) kernel.setSlot(account, slot, value)
  }
}
