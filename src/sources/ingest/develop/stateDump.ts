/**
 * The whole state after the head as one text, in the form of anvil's `anvil_dumpState`: JSON, packed with gzip, as hex.
 * Dumps of anvil can be read, too. Blocks and transactions are no part of it.
 */
import { constants, gunzipSync, gzipSync } from 'node:zlib'
import { decodeAccount } from '../../../data/state/account.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import {
  bytesOfHex,
  bytesToHex,
  equalBytes,
  padLeft,
  toAddress,
  toHash32,
  toQuantity,
} from '../../../primitives/bytes.js'
import { messageRefused } from '../../../primitives/faults.js'
import { isObject } from '../../../primitives/jsonType.js'
import { emptyCodeHash } from '../../../primitives/keccak.js'
import { invalid, quantity, wordBytes } from './developParams.js'
import type { AccountByHand } from './stateByHand.js'

/** Most bytes of a dump before it is packed: beyond any suite of tests, and a fraction of a second of work. */
export const dumpBytesMax = 64 * 2 ** 20

/** Throws FaultError MessageRefused if the state is too large. */
export function dumpState(store: ChainWriter, bytesMax = dumpBytesMax): string {
  const { number } = store.head
  const parts: string[] = []
  let bytes = 0
  for (const [address, row] of store.accountsAt(number)) {
    const { nonce, balance, codeHash } = decodeAccount(row)
    const code = equalBytes(codeHash, emptyCodeHash) ? undefined : store.readCode(codeHash)
    const storage: Record<string, string> = {}
    for (const [slot, value] of store.slotsOfAt(address, number))
      storage[bytesToHex(slot)] = bytesToHex(padLeft(value, 32))
    const account = {
      nonce: Number(nonce),
      balance: toQuantity(balance),
      code: code === undefined ? '0x' : bytesToHex(code),
      storage,
    }
    const part = `"${bytesToHex(address)}":${JSON.stringify(account)}`
    bytes += part.length + 1
    if (bytes > bytesMax)
      throw messageRefused(`the state has more than ${bytesMax} bytes as JSON; keep the data folder instead`)
    parts.push(part)
  }
  const text = `{"block":null,"accounts":{${parts.join()}},"best_block_number":"${toQuantity(number)}"}`
  return bytesToHex(gzipSync(text, { level: constants.Z_BEST_SPEED }))
}

/**
 * The accounts of a dump, each once. Their slots are those that the dump has. Throws FaultError InvalidArgument for
 * anything that is no dump.
 */
export function parseDump(dump: unknown, bytesMax = dumpBytesMax): AccountByHand[] {
  const { accounts } = jsonOf(dump, bytesMax)
  if (!isObject(accounts)) throw notADump('it has no "accounts"')
  const found = new Map<string, AccountByHand>()
  for (const [name, account] of Object.entries(accounts)) {
    const address = bytesOfHex(name, 20)
    if (address === undefined || !isObject(account)) throw notADump(`${name.slice(0, 50)} is no account`)
    const { nonce = 0, balance = 0, code = '0x', storage = {} } = account
    const codeBytes = bytesOfHex(code)
    if (codeBytes === undefined || !isObject(storage)) throw notADump(`${name} has no code or storage`)
    const slots = new Map(
      Object.entries(storage).map(([slot, value]) => {
        const key = toHash32(wordBytes(slot, 0))
        return [bytesToHex(key), [key, wordBytes(value, 0)] as const]
      }),
    )
    found.set(bytesToHex(address), {
      address: toAddress(address),
      nonce: quantity(nonce, 0),
      balance: quantity(balance, 0),
      code: codeBytes,
      slots: [...slots.values()],
    })
  }
  return [...found.values()]
}

function jsonOf(dump: unknown, bytesMax: number): Record<string, unknown> {
  const packed = bytesOfHex(dump)
  if (packed === undefined) throw invalid('expected a dump in hex', 0)
  const isPacked = packed[0] === 0x1f && packed[1] === 0x8b
  let json: unknown
  try {
    const bytes = isPacked ? gunzipSync(packed, { maxOutputLength: bytesMax }) : packed
    json = JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw notADump(code === 'ERR_BUFFER_TOO_LARGE' ? `it has more than ${bytesMax} bytes` : message)
  }
  if (!isObject(json)) throw notADump('it is no JSON object')
  return json
}

function notADump(why: string) {
  return invalid(`expected the result of anvil_dumpState: ${why}`, 0)
}
