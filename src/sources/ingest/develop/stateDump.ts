/**
 * The whole state after the head as one text, in the form of anvil's `anvil_dumpState`: JSON, packed with gzip, as hex.
 * Dumps of anvil can be read, too. Blocks and transactions are no part of it. The dump of a fork has what was changed since
 * its base, and names that.
 */
import { constants, gunzipSync, gzipSync } from 'node:zlib'
import { decodeAccount } from '../../../data/state/account.js'
import type { ForkBase } from '../../../data/store/chainRows.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import {
  type Address,
  bytesOfHex,
  bytesToHex,
  equalBytes,
  type Hash32,
  padLeft,
  toAddress,
  toHash32,
  toQuantity,
} from '../../../primitives/bytes.js'
import { messageRefused } from '../../../primitives/faults.js'
import { excerpt, isObject } from '../../../primitives/jsonType.js'
import { emptyCodeHash } from '../../../primitives/keccak.js'
import { invalid, quantity, wordBytes } from './developParams.js'
import type { AccountByHand } from './stateByHand.js'

/** Most bytes of a dump before it is packed: beyond any suite of tests, and a fraction of a second of work. */
export const dumpBytesMax = 64 * 2 ** 20

/** The accounts and slots of a dump. */
export interface DumpedRows {
  readonly accounts: Iterable<readonly [Address, Uint8Array]>
  slotsOf(address: Address): Iterable<readonly [Hash32, Uint8Array]>
  codeOf(hash: Hash32): Uint8Array | undefined
  /** Only of a fork: the accounts and slots are those that were changed since. */
  readonly base?: DumpBase
}

/** The block of another chain to whose state a dump belongs. */
export type DumpBase = Pick<ForkBase, 'number' | 'hash'>

/** The whole state after the head. */
export function allRows(store: ChainWriter): DumpedRows {
  const { number } = store.head
  return {
    accounts: store.accountsAt(number),
    slotsOf: (address) => store.slotsOfAt(address, number),
    codeOf: (hash) => store.readCode(hash),
  }
}

/** Throws FaultError MessageRefused if the state is too large. */
export function dumpState(
  store: ChainWriter,
  { accounts, slotsOf, codeOf, base }: DumpedRows = allRows(store),
  bytesMax = dumpBytesMax,
): string {
  const { number } = store.head
  const parts: string[] = []
  let bytes = 0
  for (const [address, row] of accounts) {
    const { nonce, balance, codeHash } = decodeAccount(row)
    const code = equalBytes(codeHash, emptyCodeHash) ? undefined : codeOf(codeHash)
    const storage: Record<string, string> = {}
    for (const [slot, value] of slotsOf(address)) storage[bytesToHex(slot)] = bytesToHex(padLeft(value, 32))
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
  const ofFork = base === undefined ? '' : `,"base":${JSON.stringify(base)}`
  const best = `"best_block_number":"${toQuantity(number)}"`
  const text = `{"block":null,"accounts":{${parts.join()}},${best}${ofFork}}`
  return bytesToHex(gzipSync(text, { level: constants.Z_BEST_SPEED }))
}

/**
 * The accounts of a dump, each once. Their slots are those that the dump has. `own`: base of the chain, if it is a fork.
 * Throws FaultError InvalidArgument for anything that is no dump, and for that of a fork of another block.
 */
export function parseDump(dump: unknown, own?: DumpBase, bytesMax = dumpBytesMax): AccountByHand[] {
  const { accounts, base } = jsonOf(dump, bytesMax)
  if (base !== undefined) requireBase(base, own)
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

function requireBase(base: unknown, own: DumpBase | undefined): void {
  const { number, hash } = isObject(base) ? base : {}
  if (own !== undefined && own.hash === hash) return
  const here =
    own === undefined ? 'this chain is no fork' : `this chain is one of block ${own.number}, ${own.hash}`
  throw invalid(`the dump has what a fork of block ${excerpt(`${number}, ${hash}`, 90)} changed; ${here}`, 0)
}

function notADump(why: string) {
  return invalid(`expected the result of anvil_dumpState: ${why}`, 0)
}
