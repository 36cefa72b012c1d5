/** Random blocks of Amsterdam with their access lists: programs that call each other, payments, creations, delegations. */
import { authorizationHash } from '../../src/execution/evm/transactions/recoveredKeys.js'
import { bytesToHex, concatBytes, padLeft, toMinimalBytes } from '../../src/primitives/bytes.js'
import type { RlpItem } from '../../src/primitives/rlp.js'
import type { Dice } from '../library/property.js'
import { assemble } from '../unit/execution/evm/assembly.js'
import { throwScenario } from '../unit/execution/kernel/programs.js'
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

const fixedAddress = (at: number) => padLeft(Uint8Array.of(0xf0 + at), 20)
const input = Uint8Array.of(0x35)
/** Contracts that write slots: what the programs of a scenario seldom do before they fail. */
const writers: readonly Uint8Array[] = [
  // Counts its calls in slot 0, and keeps the caller's last count.
  assemble(0, 'SLOAD', 1, 'ADD', 'DUP1', 0, 'SSTORE', 'CALLER', 'SSTORE', 32, 0, 'LOG0', 'STOP'),
  // Stores the second word of its input in the slot of the first.
  assemble(32, input, 0, input, 'SSTORE', 'STOP'),
  // Keeps what it knows of the block, and a balance that others change.
  assemble(1, 'NUMBER', 'SUB', 'BLOCKHASH', 1, 'SSTORE', 'COINBASE', 'BALANCE', 2, 'SSTORE', 'STOP'),
  // Counts in slot 3, writes another one and undoes it, and gives all that it has to its caller.
  assemble(3, 'SLOAD', 1, 'ADD', 3, 'SSTORE', 5, 4, 'SSTORE', 0, 4, 'SSTORE', 'CALLER', 'SELFDESTRUCT'),
  // Creates a contract, which destructs itself, with an own slot.
  assemble(0x600160005533ffn, 0, 'MSTORE', 7, 25, 'SELFBALANCE', 'CREATE', 9, 'SSTORE', 'STOP'),
]

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
  for (const [at, code] of writers.entries()) {
    alloc[bytesToHex(fixedAddress(at))] = { balance: '3', code: bytesToHex(code) }
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
    const kind = dice.throw(18)
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
    const small = () => padLeft(Uint8Array.of(dice.throw(4)), 32)
    const [to, input] =
      kind > 11
        ? [fixedAddress(dice.throw(writers.length)), concatBytes(small(), small())]
        : kind < 7
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
