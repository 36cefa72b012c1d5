/**
 * The first transactions of OP Stack blocks made here without an L1. Each block repeats the attributes of one L1 block,
 * which the contract stores (specs.optimism.io, protocol/deposits).
 */
import {
  concatBytes,
  hexToBytes,
  joinBytes,
  noBytes,
  padLeft,
  toMinimalBytes,
} from '../../../../primitives/bytes.js'
import { keccak256 } from '../../../../primitives/keccak.js'
import { encodeRlp } from '../../../../primitives/rlp.js'
import { depositType } from '../../../../primitives/transactionTypes.js'
import type { MadeBlock, Opening } from '../../executionRules.js'
import { type ForkName, includesFork } from '../../forkNames.js'
import { attributesContract, attributesDepositor, formOf } from './deposits.js'

const word = (value: number | bigint) => padLeft(toMinimalBytes(value), 32)
/** Defaults for zero slots of the contract: OP Mainnet's scalars, and 1 gwei for the gas of L1. */
const defaults: ReadonlyMap<number, Uint8Array> = new Map([
  [1, word(10 ** 9)],
  [5, word(188)],
  [6, word(684_000)],
  [7, word(1)],
])
/** Bytes 16 to 24 of slot 3, which also has a count, and 18 to 20 of slot 8. */
const scalarsDefault = hexToBytes('0000146b000f79c5')
const footprintDefault = hexToBytes('0190')
/** Since Regolith; before, the deposit was a system transaction. */
const attributesGas = 1_000_000
const attributesGasBefore = 150_000_000
/** More gas than the creation and immediate destruction of a contract takes. */
const paymentGas = 200_000

export function openBlock({ number, fork, forkBefore, slot, payment }: MadeBlock): Opening {
  const kept = (index: number) => {
    const bytes = slot(attributesContract, word(index))
    return orDefault(bytes, defaults.get(index) ?? bytes)
  }
  const isRegolith = includesFork(fork, 'regolith')
  const source = (domain: number) =>
    keccak256(concatBytes(word(domain), keccak256(concatBytes(kept(2), word(number)))))
  const attributes = encodeDeposit([
    ...[source(1), attributesDepositor, attributesContract, noBytes, noBytes],
    toMinimalBytes(isRegolith ? attributesGas : attributesGasBefore),
    isRegolith ? noBytes : Uint8Array.of(1),
    // The first block of a fork has the form of the fork before; Jovian's uses the form of Isthmus.
    attributesData(includesFork(fork, 'jovian') ? later(forkBefore, 'isthmus') : forkBefore, number, kept),
  ])
  const paid = payment && payingDeposit(source(0), payment)
  return { transactions: paid ? [attributes, paid] : [attributes], isAlone: fork !== forkBefore }
}

function later(one: ForkName, other: ForkName): ForkName {
  return includesFork(one, other) ? one : other
}

function orDefault(bytes: Uint8Array, otherwise: Uint8Array): Uint8Array {
  return bytes.some((byte) => byte !== 0) ? bytes : otherwise
}

function encodeDeposit(fields: readonly Uint8Array[]): Uint8Array {
  return concatBytes(Uint8Array.of(depositType.number), encodeRlp(fields))
}

/**
 * Mints ether for a contract that sends it to the account by SELFDESTRUCT, so that no code of the account can refuse
 * it.
 */
function payingDeposit(source: Uint8Array, { address, wei }: NonNullable<MadeBlock['payment']>): Uint8Array {
  const amount = toMinimalBytes(wei)
  const selfDestruct = concatBytes(Uint8Array.of(0x73), address, Uint8Array.of(0xff))
  return encodeDeposit([
    ...[source, attributesDepositor, noBytes, amount, amount, toMinimalBytes(paymentGas), noBytes],
    selfDestruct,
  ])
}

/** Call data of the attributes. The block number serves as its sequence number within one L1 block. */
function attributesData(fork: ForkName, number: number, kept: (slot: number) => Uint8Array): Uint8Array {
  const place = kept(0)
  const counted = kept(3)
  const operator = kept(8)
  const timestamp = place.subarray(16, 24)
  const l1Number = place.subarray(24)
  const baseFee = kept(1)
  const hash = kept(2)
  const batcher = kept(4)
  if (!includesFork(fork, 'ecotone')) {
    const reported = [padLeft(l1Number, 32), padLeft(timestamp, 32), baseFee, hash, word(number), batcher]
    return joinBytes([formOf(fork), ...reported, kept(5), kept(6)])
  }
  const parts = [
    ...[formOf(fork), orDefault(counted.subarray(16, 24), scalarsDefault), word(number).subarray(24)],
    ...[timestamp, l1Number, baseFee, kept(7), hash, batcher],
  ]
  if (includesFork(fork, 'isthmus')) parts.push(operator.subarray(20))
  if (includesFork(fork, 'jovian')) parts.push(orDefault(operator.subarray(18, 20), footprintDefault))
  return joinBytes(parts)
}
