/** Authorizations of EIP-7702: who signed them, and what they change before the message runs. */
import { Account as EvmAccount, Address as EvmAddress } from '@ethereumjs/util'
import { concatBytes, toMinimalBytes } from '../primitives/bytes.js'
import { keccak256 } from '../primitives/keccak.js'
import { encodeRlp } from '../primitives/rlp.js'
import type { CallEvm } from './callEvm.js'
import { recoverKey } from './ecrecover.js'
import type { Authorization } from './execution.js'
import type { JobWatch } from './jobWatch.js'

/** An authorization with its signer. */
export interface SignedAuthorization {
  readonly authorization: Authorization
  /** 20 bytes. */
  readonly authority: Uint8Array
}

/** What is signed begins with it. */
const magic = Uint8Array.of(0x05)
const delegationPrefix = Uint8Array.of(0xef, 0x01, 0x00)
const refundOfExisting = 12_500n
const nonceMax = 2n ** 64n - 1n
/** EIP-2: a greater `s` is malleable. */
const sMax = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

/**
 * Authorizations that are made for this chain and signed properly, in order; others are skipped, as a block would.
 * About 0.3 ms each, under the watch.
 */
export function recoverAuthorities(
  list: readonly Authorization[],
  chainId: bigint,
  watch: JobWatch,
): SignedAuthorization[] {
  const signed: SignedAuthorization[] = []
  for (const authorization of list) {
    const { address, nonce, yParity, r, s } = authorization
    if (authorization.chainId !== 0n && authorization.chainId !== chainId) continue
    if (nonce >= nonceMax || s > sMax || yParity > 1) continue
    watch.look()
    const fields = [toMinimalBytes(authorization.chainId), address, toMinimalBytes(nonce)]
    const hash = keccak256(concatBytes(magic, encodeRlp(fields)))
    const key = recoverKey(hash, BigInt(yParity), toMinimalBytes(r), toMinimalBytes(s))
    if (key !== undefined) signed.push({ authorization, authority: keccak256(key).subarray(12) })
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
    evm.attachments.watch.look()
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
