/** Authorizations of EIP-7702: who signed them, and what they change before the message runs. */
import { Account as EvmAccount, Address as EvmAddress, eoaCode7702RecoverAuthority } from '@ethereumjs/util'
import { concatBytes, toMinimalBytes } from '../primitives/bytes.js'
import type { CallEvm } from './callEvm.js'
import type { Authorization } from './execution.js'

/** An authorization with its signer. */
export interface SignedAuthorization {
  readonly authorization: Authorization
  /** 20 bytes. */
  readonly authority: Uint8Array
}

const delegationPrefix = Uint8Array.of(0xef, 0x01, 0x00)
const refundOfExisting = 12_500n
const nonceMax = 2n ** 64n - 1n
/** EIP-2: a greater `s` is malleable. */
const sMax = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

/**
 * Authorizations that are made for this chain and signed properly, in order; others are skipped, as a block would.
 * About 1 ms each.
 */
export function recoverAuthorities(list: readonly Authorization[], chainId: bigint): SignedAuthorization[] {
  const signed: SignedAuthorization[] = []
  for (const authorization of list) {
    const { nonce, yParity, r, s } = authorization
    if (authorization.chainId !== 0n && authorization.chainId !== chainId) continue
    if (nonce >= nonceMax || s > sMax || yParity > 1) continue
    try {
      const fields = [authorization.chainId, nonce, BigInt(yParity), r, s].map(toMinimalBytes)
      const [chain, at, parity, first, second] = fields as [
        Uint8Array,
        Uint8Array,
        Uint8Array,
        Uint8Array,
        Uint8Array,
      ]
      const { bytes } = eoaCode7702RecoverAuthority([chain, authorization.address, at, parity, first, second])
      signed.push({ authorization, authority: bytes })
    } catch {
      // The library throws for every signature that no key can have made.
    }
  }
  return signed
}

/** Sets the code of accounts whose authorization holds now, and warms them all. Returns the gas to be refunded. */
export async function applyAuthorizations(
  evm: CallEvm,
  list: readonly SignedAuthorization[],
): Promise<bigint> {
  let refund = 0n
  for (const { authorization, authority } of list) {
    const address = new EvmAddress(authority)
    evm.journal.addAlwaysWarmAddress(address.toString())
    const code = await evm.stateManager.getCode(address)
    if (code.length > 0 && !isDelegation(code)) continue
    const account = await evm.stateManager.getAccount(address)
    if ((account?.nonce ?? 0n) !== authorization.nonce) continue
    if (account !== undefined) refund += refundOfExisting
    const changed = account ?? new EvmAccount()
    changed.nonce++
    await evm.journal.putAccount(address, changed)
    const clears = authorization.address.every((byte) => byte === 0)
    await evm.stateManager.putCode(
      address,
      clears ? new Uint8Array(0) : concatBytes(delegationPrefix, authorization.address),
    )
  }
  return refund
}

/** Whether code is a delegation indicator. */
export function isDelegation(code: Uint8Array): boolean {
  return code.length === 23 && delegationPrefix.every((byte, index) => code[index] === byte)
}
