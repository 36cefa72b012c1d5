/** Authorizations of EIP-7702: their signers, and their changes before the message runs. */
import { concatBytes, toMinimalBytes } from '../../../primitives/bytes.js'
import type { JobWatch } from '../engine/jobWatch.js'
import type { Kernel } from '../engine/kernel.js'
import type { Authorization } from '../messages/executionRequest.js'
import { addressOfKey, authorizationHash, RecoveredKeys } from './recoveredKeys.js'

export interface SignedAuthorization {
  readonly authorization: Authorization
  /** 20 bytes. */
  readonly authority: Uint8Array
}

const delegationPrefix = Uint8Array.of(0xef, 0x01, 0x00)
const delegationBytes = 23
const refundOfExisting = 12_500n
/** EIP-2681: an account with this nonce neither sends nor creates. */
export const nonceMax = 2n ** 64n - 1n
/** EIP-2: a greater `s` is malleable. */
export const sMax = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

/**
 * Authorizations for this chain with valid signatures, in order; others are skipped, as in a block. Keys that `keys`
 * does not have are recovered (libsecp256k1.ts), which the watch counts.
 */
export function recoverAuthorities(
  list: readonly Authorization[],
  chainId: bigint,
  watch: JobWatch | undefined,
  keys: Pick<RecoveredKeys, 'keyOf'> = new RecoveredKeys(),
): SignedAuthorization[] {
  const signed: SignedAuthorization[] = []
  for (const authorization of list) {
    const { nonce, yParity, s } = authorization
    if (authorization.chainId !== 0n && authorization.chainId !== chainId) continue
    if (nonce >= nonceMax || s > sMax || yParity > 1) continue
    watch?.look()
    const authority = signerOf(authorization, keys)
    if (authority !== undefined) signed.push({ authorization, authority })
  }
  return signed
}

/** Signers of authorizations with valid signatures, 20 bytes each, for any chain and nonce. */
export function signersOf(list: readonly Authorization[]): Uint8Array[] {
  const keys = new RecoveredKeys()
  const valid = list.filter(({ s, yParity }) => s <= sMax && yParity <= 1)
  return valid.map((each) => signerOf(each, keys)).filter((signer) => signer !== undefined)
}

function signerOf(
  { chainId, address, nonce, yParity, r, s }: Authorization,
  keys: Pick<RecoveredKeys, 'keyOf'>,
): Uint8Array | undefined {
  const signedHash = authorizationHash(toMinimalBytes(chainId), address, toMinimalBytes(nonce))
  const signature = { parity: BigInt(yParity), r: toMinimalBytes(r), s: toMinimalBytes(s) }
  const key = keys.keyOf({ signedHash, ...signature })
  return key && addressOfKey(key)
}

/** From Amsterdam on, authorizations are paid one after the other. */
export interface AuthorizationCosts {
  /** Called before the account is read. */
  load(account: number): void
  /** Pays for a valid authorization; `sets`: it delegates. False if the gas is not enough. */
  pay(account: number, sets: boolean): boolean
}

/**
 * Applies valid authorizations. Without `costs`, so before Amsterdam, gas is refunded for each account that exists.
 * Returns whether the gas was enough for `costs`.
 */
export function applyAuthorizations(
  kernel: Kernel,
  list: readonly SignedAuthorization[],
  costs: AuthorizationCosts | undefined,
  watch?: JobWatch,
): boolean {
  for (const { authorization, authority } of list) {
    watch?.look()
    const account = kernel.account(authority)
    kernel.warm(account)
    costs?.load(account)
    const code = kernel.codeOf(account)
    if (code.length > 0 && !isDelegation(code)) continue
    if (kernel.nonceOf(account) !== authorization.nonce) continue
    const clears = authorization.address.every((byte) => byte === 0)
    if (costs?.pay(account, !clears) === false) return false
    if (costs === undefined && kernel.exists(account)) kernel.addRefund(refundOfExisting)
    kernel.setCode(account, clears ? new Uint8Array(0) : concatBytes(delegationPrefix, authorization.address))
    kernel.setNonce(account, authorization.nonce + 1n)
  }
  return true
}

/** The account to which an account delegates. */
export function delegateOf(kernel: Kernel, account: number): number | undefined {
  // Most other code is longer, so it is not copied.
  if (!kernel.hasCode(account) || kernel.codeLengthOf(account) !== delegationBytes) return undefined
  const code = kernel.codeOf(account)
  return isDelegation(code) ? kernel.account(code.subarray(3)) : undefined
}

export function isDelegation(code: Uint8Array): boolean {
  return code.length === delegationBytes && delegationPrefix.every((byte, index) => code[index] === byte)
}
