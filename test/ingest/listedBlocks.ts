/** Random blocks of Amsterdam with their access lists: programs that call each other, payments, creations, delegations. */
import { authorizationHash } from '../../src/evm/transactions/recoveredKeys.js'
import { bytesToHex, padLeft, toMinimalBytes } from '../../src/primitives/bytes.js'
import type { RlpItem } from '../../src/primitives/rlp.js'
import type { Dice } from '../library/property.js'
import { throwScenario } from '../unit/kernel/programs.js'
import {
  type ListedBlock,
  ListedChain,
  listedChainId,
  makeSenders,
  type Sender,
  sign,
  signTransaction,
} from './listedChain.js'

const senderCount = 5
const senders = makeSenders(senderCount)

/** Contracts of one scenario, and a function that makes the next block of transactions to them. */
export function throwChain(dice: Dice): { readonly chain: ListedChain; readonly next: () => ListedBlock } {
  const { contracts, data } = throwScenario(dice)
  const alloc: Record<string, unknown> = {}
  for (const { address, code, balance, slots } of contracts) {
    const storage = Object.fromEntries(
      [...slots].map(([key, value]) => [`0x${key}`, bytesToHex(padLeft(value, 32))]),
    )
    alloc[bytesToHex(address)] = { balance: String(balance), code: bytesToHex(code), storage }
  }
  const chain = new ListedChain(alloc, senders)
  let nonces: number[] = []
  const freshAddress = () => padLeft(Uint8Array.of(0xfe, dice.throw(8)), 20)
  const contract = () => contracts[dice.throw(contracts.length)] as (typeof contracts)[number]

  /** One that is signed, with the next nonce of its sender. */
  const transaction = (): Uint8Array => {
    const from = dice.throw(senderCount)
    const sender = senders[from] as Sender
    const start = [listedChainId, nonces[from] as number].map(toMinimalBytes)
    nonces[from] = (nonces[from] as number) + 1
    const kind = dice.throw(12)
    const value = toMinimalBytes(dice.throw(3) === 0 ? dice.throw(10_000) : 0)
    const gas = toMinimalBytes(300_000 + dice.throw(1_500_000))
    const slot = padLeft(Uint8Array.of(dice.throw(4)), 32)
    const accessList =
      dice.throw(4) === 0
        ? [
            [contract().address, [slot]],
            [freshAddress(), []],
          ]
        : []
    const price = toMinimalBytes(1_000 + dice.throw(3))
    if (kind === 11) {
      const authorizations = dice.times(1 + dice.throw(2), () => authorization(dice.throw(senderCount)))
      const call = [gas, freshAddress(), value, data, accessList, authorizations]
      return signTransaction(4, [...start, price, price, ...call], sender)
    }
    const other = senders[dice.throw(senderCount)] as Sender
    const [to, input] =
      kind < 7
        ? [contract().address, data]
        : kind < 9
          ? [other.address, data]
          : kind === 9
            ? [new Uint8Array(0), contract().code]
            : [freshAddress(), data]
    const call = [gas, to, value, input, accessList]
    return dice.throw(2) === 0
      ? signTransaction(1, [...start, price, ...call], sender)
      : signTransaction(2, [...start, toMinimalBytes(dice.throw(90)), price, ...call], sender)
  }

  /** Its nonce is right for a signer that sends nothing more in the block. */
  const authorization = (signer: number): RlpItem => {
    const nonce = toMinimalBytes(nonces[signer] as number)
    const delegate = dice.throw(3) === 0 ? new Uint8Array(20) : contract().address
    const chainId = toMinimalBytes(dice.throw(2) * listedChainId)
    const hash = authorizationHash(chainId, delegate, nonce)
    return [chainId, delegate, nonce, ...sign(hash, senders[signer]?.key as Uint8Array)]
  }

  const next = (): ListedBlock => {
    nonces = senders.map((sender) => chain.nonceOf(sender))
    const withdrawals = dice.times(dice.throw(3), () => [
      ...[1, 2].map(toMinimalBytes),
      freshAddress(),
      toMinimalBytes(dice.throw(1_000)),
    ])
    const miner = dice.throw(3) === 0 ? { miner: senders[0]?.address as Uint8Array } : {}
    return chain.add(dice.times(2 + dice.throw(10), transaction), { ...miner, withdrawals })
  }
  return { chain, next }
}
