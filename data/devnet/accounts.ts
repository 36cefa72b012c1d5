/**
 * The people of the demo network. Their private keys follow from {@link seedPhrase}, which is printed here for all
 * the world: they are public and worthless. Never send anything of value to these addresses.
 */
import { privateToPublic, publicToAddress } from '@ethereumjs/util'
import { type Address, bytesToHex, type Hex, toAddress } from '../../src/primitives/bytes.js'
import { keccak256 } from '../../src/primitives/keccak.js'

/** Every private key is Keccak-256 of this phrase, a colon, a space and the account's name. */
export const seedPhrase = 'tidegate demo network, public and worthless'

/** Someone who can sign. `hex` is `address` in lower case. */
export interface Account {
  readonly name: string
  readonly address: Address
  readonly hex: Hex
  readonly privateKey: Uint8Array
  /** 64 bytes. */
  readonly publicKey: Uint8Array
}

/** Keccak-256 of a text: filler for everything that a real network would get from elsewhere. */
export function textHash(text: string): Uint8Array {
  return keccak256(new TextEncoder().encode(text))
}

function makeAccount(name: string): Account {
  const privateKey = textHash(`${seedPhrase}: ${name}`)
  const publicKey = privateToPublic(privateKey)
  const address = toAddress(publicToAddress(publicKey))
  return { name, address, hex: bytesToHex(address), privateKey, publicKey }
}

/** Holders of ether and tokens; all are rich from genesis on. */
export const people = {
  ada: makeAccount('ada'),
  bea: makeAccount('bea'),
  cal: makeAccount('cal'),
  dot: makeAccount('dot'),
  eve: makeAccount('eve'),
  fay: makeAccount('fay'),
  gus: makeAccount('gus'),
  hal: makeAccount('hal'),
  /** Fills blocks with gas so that the base fee moves. */
  ivy: makeAccount('ivy'),
  /** Delegates to contract code by EIP-7702. */
  joy: makeAccount('joy'),
} as const

/** Block producers. At genesis they own nothing; they own their rewards. */
export const miners = [
  makeAccount('miner one'),
  makeAccount('miner two'),
  makeAccount('miner three'),
] as const

/** Receivers that exist only because something was sent to them. */
export function stranger(index: number): Account {
  return makeAccount(`stranger ${index}`)
}
