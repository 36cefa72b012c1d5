/** `tidegate slot`: storage slots of mapping entries, computed without a store. */

import {
  encodeKey,
  KeyError,
  type KeyType,
  keyTypesExpected,
  mappingSlot,
  parseKeyType,
} from '../../data/state/mappingKeys.js'
import { bytesToHex, hexToBytes } from '../../primitives/bytes.js'
import { UsageError } from '../../primitives/faults.js'
import type { Io } from '../process/terminal.js'

interface SlotFlags {
  /** Names of types, separated by commas. */
  readonly types?: string | undefined
  readonly each?: boolean | undefined
}

/** Prints one slot, or with `each` one for every key. `words` are the mapping's slot and its keys. */
export async function computeSlots(
  { types, each }: SlotFlags,
  [mapping = '', ...keys]: readonly string[],
  io: Io,
): Promise<number> {
  const slot = parseMapping(mapping)
  const keyTypes = types?.split(',').map(parseType)
  const paths = each ? keys.map((key) => [key]) : [keys]
  const levels = each ? 1 : keys.length
  if (keyTypes !== undefined && keyTypes.length !== levels) {
    const count = levels === 1 ? 'one key' : `${levels} keys`
    throw new UsageError(
      `--types names ${keyTypes.length} types for ${count}; name one for each mapping of the path`,
    )
  }
  const slots = paths.map((path, entry) =>
    mappingSlot(
      slot,
      path.map((key, level) => encode(keyTypes?.[level], key, entry + level + 1)),
    ),
  )
  io.out(slots.map(bytesToHex).join('\n'))
  return 0
}

function parseMapping(text: string): Uint8Array {
  const integer = /^([0-9]{1,78}|0[xX][0-9a-fA-F]{1,64})$/.test(text) ? BigInt(text) : undefined
  if (integer !== undefined && integer < 2n ** 256n) return hexToBytes(integer.toString(16).padStart(64, '0'))
  throw new UsageError(
    `${JSON.stringify(text)} is no slot of a mapping; write a decimal number, or 0x and at most 64 hex digits`,
  )
}

function parseType(name: string): KeyType {
  const type = parseKeyType(name.trim())
  if (type !== undefined) return type
  throw new UsageError(
    `--types: ${JSON.stringify(name)} is no type of a key; choose from ${keyTypesExpected}`,
  )
}

/** `position` is the key's position on the command line, from 1. */
function encode(type: KeyType | undefined, key: string, position: number): Uint8Array {
  try {
    // A key of digits only is a decimal number here; in a JSON string it could also be hex.
    if (type === undefined && /^[0-9]+$/.test(key)) {
      return encodeKey({ kind: 'integer', isSigned: false, bits: 256 }, key)
    }
    return encodeKey(type ?? { kind: 'word' }, key)
  } catch (error) {
    if (error instanceof KeyError) throw new UsageError(`key ${position}: ${error.message}`)
    throw error
  }
}
