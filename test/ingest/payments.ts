/**
 * Chains of payments: a contract with its own event and return value, for clients of contracts. Block 1 deploys it; a
 * block's payments depend on its number and its branch.
 */
import { createContractAddress } from '@ethereumjs/util'
import { encodeFunctionData, getAddress, parseAbi, toEventSelector } from 'viem'
import { hexToBytes } from '../../src/primitives/bytes.js'
import { type BlockPlan, type MadeBlock, testAddresses } from './chainMaker.js'

/** `pay` stores the value in the payee's slot, logs the payment, and returns the slot's earlier value. */
export const ledgerAbi = parseAbi([
  'function pay(address payee, uint256 value) returns (uint256)',
  'event Paid(address indexed payer, address indexed payee, uint256 value)',
])
const [, paid] = ledgerAbi

const [deployer, payer] = testAddresses
if (deployer === undefined || payer === undefined) throw new RangeError('too few accounts')

/** The address with its checksum, as in the answers of clients. */
export const ledgerAddress = getAddress(createContractAddress(deployer, 0n).toString())
export const payerAddress = getAddress(payer.toString())
export const payees = ['0xa1', '0xa2', '0xa3'].map((last) => getAddress(`${last}${'0'.repeat(38)}`))

const ledgerCode = [
  '60043554', // the payee's slot before
  '6024356004355560243560005260043533', // slot[payee] = value; memory[0] = value; topics payee and payer
  `7f${toEventSelector(paid).slice(2)}`,
  '60206000a3', // Paid(payer, payee, value)
  '60005260206000f3', // return the slot before
].join('')
const ledgerBytes = ledgerCode.length / 2
/** Returns the code after it. */
const deploying = `60${ledgerBytes.toString(16)}600c60003960${ledgerBytes.toString(16)}6000f3`

export interface Payment {
  readonly payee: string
  readonly value: bigint
}

/** Up to three payments, to different payees, in each block except the first. */
function paymentsOf(number: number, branch: number): Payment[] {
  const count = number === 1 ? 0 : (number + branch) % 4
  return Array.from({ length: count }, (_, index) => ({
    payee: payees[(number + index) % payees.length] as string,
    value: BigInt(branch * 1_000_000 + number * 10 + index),
  }))
}

export function paymentInput({ payee, value }: Payment): `0x${string}` {
  return encodeFunctionData({ abi: ledgerAbi, functionName: 'pay', args: [getAddress(payee), value] })
}

/** The plan of a block for `makeReplayedChain`. */
export function paymentPlan(number: number, branch: number): BlockPlan {
  const payments = paymentsOf(number, branch).map((payment) => ({
    from: 1,
    to: ledgerAddress,
    data: hexToBytes(paymentInput(payment)),
  }))
  const deployment = { from: 0, data: hexToBytes(deploying + ledgerCode) }
  return {
    transactions: number === 1 ? [deployment] : payments,
    extraData: Buffer.from(`branch ${branch}`),
  }
}

/** The payments of a block of such a chain. */
export function paymentsIn({ number, block }: MadeBlock): Payment[] {
  return paymentsOf(number, Number(Buffer.from(block.header.extraData).toString().slice('branch '.length)))
}
