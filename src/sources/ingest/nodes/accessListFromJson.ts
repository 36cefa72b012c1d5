/** Block access lists from the JSON of execution-apis. Errors show in the hash of the RLP. */
import {
  type AccountAccess,
  encodeBlockAccessList,
  type IndexedValue,
} from '../../../data/chain/blockAccessList.js'
import { padLeft, trimLeft } from '../../../primitives/bytes.js'
import { MalformedError } from './lie.js'
import { bytesOf, quantityOf } from './receiptsFromJson.js'

type Json = Readonly<Record<string, unknown>>

/** RLP of the list. Throws {@link MalformedError} for a malformed answer. */
export function accessListFromJson(answer: unknown): Uint8Array {
  try {
    return encodeBlockAccessList(listOf(answer).map(accountOf))
  } catch (error) {
    if (error instanceof MalformedError) throw error
    throw new MalformedError(`an access list that cannot be read: ${(error as Error).message}`)
  }
}

function accountOf(account: Json): AccountAccess {
  return {
    address: bytesOf(account.address),
    storageChanges: listOf(account.storageChanges).map(({ key, changes }) => ({
      slot: wordOf(key),
      changes: valuesOf(changes, 'value'),
    })),
    storageReads: (account.storageReads as readonly unknown[]).map(wordOf),
    balanceChanges: valuesOf(account.balanceChanges, 'value'),
    nonceChanges: valuesOf(account.nonceChanges, 'value'),
    codeChanges: valuesOf(account.codeChanges, 'code'),
  }
}

function valuesOf(changes: unknown, name: 'value' | 'code'): IndexedValue[] {
  return listOf(changes).map((change) => ({
    index: Number(quantityOf(change.index)),
    value: name === 'code' ? bytesOf(change.code) : integerOf(change.value),
  }))
}

function wordOf(value: unknown): Uint8Array {
  return padLeft(integerOf(value), 32)
}

/** An integer, as a quantity or with leading zeros. */
function integerOf(value: unknown): Uint8Array {
  if (typeof value !== 'string' || !value.startsWith('0x'))
    throw new MalformedError('a value that is not hex')
  const digits = value.slice(2)
  return trimLeft(bytesOf(`0x${digits.length % 2 === 0 ? digits : `0${digits}`}`))
}

function listOf(value: unknown): readonly Json[] {
  if (Array.isArray(value) && value.every((each) => typeof each === 'object' && each !== null)) return value
  throw new MalformedError('an access list without its parts')
}
