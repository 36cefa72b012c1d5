/**
 * Signs for the accounts of a developer chain, and sends transactions of accounts that callers impersonate, which need
 * no signature. Owns which accounts these are.
 */
import { unsignedForm } from '../../../execution/evm/transactions/signedTransaction.js'
import { type Address, bytesToHex, hexToBytes, toAddress } from '../../../primitives/bytes.js'
import { putNewest } from '../../../primitives/putNewest.js'
import type { SigningMethod } from '../../../primitives/upstreamCalls.js'
import type { Developer } from './developer.js'
import type { Signer } from './signer.js'

/** Most accounts that are impersonated; suites that never stop name one per test. */
const impersonatedMax = 1_024

export class AccountSigning {
  readonly #developer: Developer
  /** Number of accounts of the well-known mnemonic. */
  readonly #count: number
  /** Accounts, hex, whose transactions need no signature; until a restart. */
  readonly #impersonated = new Map<string, true>()
  #impersonatesAll = false
  #loadedSigner: Promise<Signer> | undefined

  constructor(developer: Developer, count: number) {
    this.#developer = developer
    this.#count = count
  }

  impersonate(account: Address): void {
    putNewest(this.#impersonated, bytesToHex(account), true, impersonatedMax)
  }

  /** False if the account was not impersonated. */
  stopImpersonating(account: Address): boolean {
    return this.#impersonated.delete(bytesToHex(account))
  }

  impersonateAll(isOn: boolean): void {
    this.#impersonatesAll = isOn
  }

  /** Impersonates no account. */
  reset(): void {
    this.#impersonated.clear()
    this.#impersonatesAll = false
  }

  /**
   * Answers for `rpc/methods/signing.ts`; the first parameter is the account. Without a transaction
   * `eth_sendTransaction` checks only that there is a signer.
   */
  readonly methods: Readonly<Record<SigningMethod, (params: readonly unknown[]) => Promise<unknown>>> = {
    eth_accounts: async () => (await this.#signer).accounts,
    eth_sign: async ([account, message]) =>
      (await this.#signer).signMessage(String(account), hexToBytes(String(message))),
    eth_signTypedData_v4: async ([account, typed]) =>
      (await this.#signer).signTypedData(String(account), typed),
    eth_signTransaction: async ([account, raw, nonce]) => {
      const unsigned = hexToBytes(String(raw))
      const chainId = this.#chainId
      const signer = await this.#signer
      return bytesToHex(signer.signTransaction(String(account), unsigned, BigInt(String(nonce)), chainId))
    },
    eth_sendUnsignedTransaction: async ([account, raw, nonce]) => {
      const sender = toAddress(hexToBytes(String(account)))
      await this.#developer.know(() => sender)
      const unsigned = hexToBytes(String(raw))
      const chainId = this.#chainId
      return bytesToHex(await this.#sendUnsigned(sender, unsigned, this.#nonceFor(sender, nonce), chainId))
    },
    eth_sendTransaction: async ([account, raw, nonce]) => {
      const signer = await this.#signer
      const sender = toAddress(hexToBytes(String(account)))
      await this.#developer.know(() => sender)
      const isImpersonated = this.#impersonatesAll || this.#impersonated.has(bytesToHex(sender))
      if (!isImpersonated) signer.requireAccount(String(account))
      if (raw === undefined) return null
      // On a complete chain there is no await from here to the queue, so that no other transaction gets the same nonce.
      const next = this.#nonceFor(sender, nonce)
      const unsigned = hexToBytes(String(raw))
      const chainId = this.#chainId
      if (isImpersonated && !signer.accounts.includes(bytesToHex(sender)))
        return bytesToHex(await this.#sendUnsigned(sender, unsigned, next, chainId))
      const signed = signer.signTransaction(String(account), unsigned, next, chainId)
      return bytesToHex(await this.#developer.send(signed))
    },
  }

  /** The chain id that legacy transactions are signed with; undefined before EIP-155. */
  get #chainId(): bigint | undefined {
    const { maker, clock } = this.#developer
    return maker.signedChainId(clock.next)
  }

  /** The given nonce, or the one after all of the sender's transactions. */
  #nonceFor(sender: Address, nonce: unknown): bigint {
    if (nonce !== undefined) return BigInt(String(nonce))
    const { maker } = this.#developer
    const used = maker.accountOf(sender)?.nonce ?? 0n
    return used + BigInt(maker.waiting.countFrom(sender, used))
  }

  /** Sends a transaction of an account whose key is not known. */
  async #sendUnsigned(sender: Address, unsigned: Uint8Array, nonce: bigint, chainId: bigint | undefined) {
    const { withSignature } = await import('./signer.js')
    const raw = withSignature(unsigned, nonce, chainId, () => unsignedForm(sender))
    const { maker, clock } = this.#developer
    this.#developer.requireUnpublished('a transaction without a signature')
    maker.impersonate(raw, sender)
    maker.check(raw, clock.next)
    this.#developer.noteByHand(`transaction of ${bytesToHex(sender)} without a signature`)
    return this.#developer.send(raw)
  }

  /** Loaded at the first use, because most chains receive only signed transactions. */
  get #signer(): Promise<Signer> {
    const { maker } = this.#developer
    this.#loadedSigner ??= import('./signer.js').then(
      ({ Signer }) => new Signer((address) => (maker.accountOf(address)?.balance ?? 0n) > 0n, this.#count),
    )
    return this.#loadedSigner
  }
}
