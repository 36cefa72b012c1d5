/** Gas that a transaction costs before anything of it runs. Pure functions of the EIPs they cite. */
import { type ForkName, includesFork } from './forks.js'

/** What of a transaction decides its cost before execution. */
export interface TransactionShape {
  readonly isCreation: boolean
  readonly data: Uint8Array
  /** Addresses and storage keys of the access list (EIP-2930). */
  readonly listedAddresses: number
  readonly listedSlots: number
  /** Entries of the authorization list (EIP-7702). */
  readonly authorizations: number
}

const transactionGas = 21_000
const creationGas = 32_000
const zeroByteGas = 4
const floorGasPerToken = 10
/** Tokens of a byte other than zero (EIP-7623). */
const tokensPerByte = 4
const initcodeWordGas = 2
const listedAddressGas = 2_400
const listedSlotGas = 1_900
const authorizationGas = 25_000

/** Longest initcode of a creation (EIP-3860), from Shanghai on. */
export const initcodeBytesMax = 49_152

/** Most gas of one transaction from Osaka on (EIP-7825). */
export const transactionGasMax = 2n ** 24n

/** Yellow paper 6.2 with EIP-2, EIP-2028, EIP-2930, EIP-3860 and EIP-7702. */
export function intrinsicGas(shape: TransactionShape, fork: ForkName): bigint {
  const { isCreation, data } = shape
  const zeros = countZeros(data)
  let gas = transactionGas + zeros * zeroByteGas
  gas += (data.length - zeros) * (includesFork(fork, 'istanbul') ? 16 : 68)
  if (isCreation && includesFork(fork, 'homestead')) gas += creationGas
  if (isCreation && includesFork(fork, 'shanghai')) gas += Math.ceil(data.length / 32) * initcodeWordGas
  gas += shape.listedAddresses * listedAddressGas + shape.listedSlots * listedSlotGas
  gas += shape.authorizations * authorizationGas
  return BigInt(gas)
}

/** Least gas that a transaction with this data pays, from Prague on (EIP-7623); zero before. */
export function calldataFloorGas(data: Uint8Array, fork: ForkName): bigint {
  if (!includesFork(fork, 'prague')) return 0n
  const zeros = countZeros(data)
  const tokens = zeros + (data.length - zeros) * tokensPerByte
  return BigInt(transactionGas + tokens * floorGasPerToken)
}

function countZeros(data: Uint8Array): number {
  let zeros = 0
  for (let i = 0; i < data.length; i++) if (data[i] === 0) zeros++
  return zeros
}
