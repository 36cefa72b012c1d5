import { type Hash32, hexToBytes, toHash32 } from '../primitives/bytes.js'
import type { Development } from '../store/chainRows.js'
import type { Header } from './header.js'

/** Root of the state after a block: its header's, but for the genesis of a {@link Development} chain. */
export function stateRootOf({ number, stateRoot }: Header, development: Development | undefined): Hash32 {
  return number === 0 && development !== undefined ? toHash32(hexToBytes(development.stateRoot)) : stateRoot
}
