/**
 * Reads files with the whole state after a block, one account per line: the JSON lines of `reth init-state`, and those
 * of `geth dump --iterative`. Owns the syntax of a line; nothing is checked against a root here.
 *
 *   {"root":"0x…"}                                                  the first line
 *   {"address":"0x…","balance":"0x…","nonce":1,"code":"0x…","storage":{"0x…":"0x…"}}
 *
 * go-ethereum writes the balance in decimal, values of slots without `0x`, and adds `root` (of the storage), `codeHash`
 * and `key` (the hash of the address). A contract may have more slots than fit in memory, so a line is read token by
 * token.
 */
import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import * as zlib from 'node:zlib'
import {
  addressBytes,
  bytesToHex,
  hashBytes,
  latin1Text,
  noBytes,
  trimLeft,
  writeDigits,
} from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import { excerpt } from '../../../primitives/jsonType.js'
import { firstBytes } from '../blocks/chainFile.js'

/** An account of a dump without its slots, which were passed before it. */
export interface DumpedAccount {
  readonly line: number
  readonly address: Uint8Array
  readonly nonce: bigint
  readonly balance: bigint
  /** Empty for none. */
  readonly code: Uint8Array
  /** Undefined if the dump does not have it; so is `storageRoot`. */
  readonly codeHash: Uint8Array | undefined
  readonly storageRoot: Uint8Array | undefined
}

/** Receives the entries of a dump, in its order. */
export interface DumpSink {
  /** The state root that the dump claims; called first. */
  root(root: Uint8Array): void
  /** A slot of the account that follows. Zero slots are skipped, and values have no leading zeros. */
  slot(slot: Uint8Array, value: Uint8Array): void
  account(account: DumpedAccount): void
}

/** A wrong line of a dump; the message has the reason. */
export class DumpError extends Error {}

/** The reason for an account or slot without a name. */
export const noPreimages =
  'the node that reports it knows only its hash; take a node that keeps preimages (geth --cache.preimages, from the first ' +
  'block on), or the state of another client'

/** Longest text in a dump: no code is longer, not even in the genesis of a private chain. */
const tokenBytesMax = 32 * 2 ** 20
const readBytes = 2 ** 20

/**
 * Reads a dump, plain or packed by gzip or zstd (recognised by its first bytes), and passes its entries to `sink`.
 * After each part `onRead` gets the number of bytes read; reading ends early if it resolves to false. Rejects with
 * OperatorError that names the wrong line.
 */
export async function readStateDump(
  path: string,
  sink: DumpSink,
  onRead: (bytes: number) => Promise<boolean>,
): Promise<void> {
  const unpacker = await unpackerOf(path)
  const parser = new DumpParser(sink)
  const file = createReadStream(path, { highWaterMark: readBytes })
  const unpacked = unpacker === undefined ? file : file.pipe(unpacker)
  if (unpacker !== undefined) file.on('error', (error) => unpacker.destroy(error))
  try {
    for await (const chunk of unpacked) {
      parser.feed(chunk as Buffer)
      if (!(await onRead(file.bytesRead))) return
    }
    parser.end()
  } catch (error) {
    if (error instanceof DumpError) throw new OperatorError(`${path}: line ${parser.line}: ${error.message}`)
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined || error instanceof OperatorError) throw error
    throw new OperatorError(`cannot read ${path} after line ${parser.line}: ${(error as Error).message}`)
  } finally {
    file.destroy()
  }
}

/** The unpacker for a file, chosen by its first bytes; undefined for a plain one. */
async function unpackerOf(path: string): Promise<(Readable & NodeJS.WritableStream) | undefined> {
  const begin = bytesToHex(await firstBytes(path, 4))
  if (begin.startsWith('0x1f8b')) return zlib.createGunzip({ chunkSize: readBytes })
  if (begin !== '0x28b52ffd') return undefined
  const { createZstdDecompress } = zlib as { createZstdDecompress?: () => Readable & NodeJS.WritableStream }
  if (createZstdDecompress !== undefined) return createZstdDecompress()
  throw new OperatorError(
    `${path} is packed by zstd, which Node.js reads from 22.15 on, and this is ${process.version}; unpack it first (zstd -d)`,
  )
}

/** Kinds of the next token. */
type Expected = 'object' | 'first' | 'name' | 'colon' | 'value' | 'next'

/** Number of open objects: none, a line, or a line and its storage. */
type Depth = 0 | 1 | 2

/** Reads a dump as its bytes arrive. Throws {@link DumpError}; {@link DumpParser.line} is then the wrong line. */
export class DumpParser {
  /** Number of the current line, from 1 on. */
  line = 1
  readonly #sink: DumpSink
  #expected: Expected = 'object'
  #depth: Depth = 0
  /** Number of open objects and lists within a skipped member. */
  #passed = 0
  #carried: Uint8Array = noBytes
  #name = ''
  #slot: Uint8Array = noBytes
  #members = new Map<string, string>()
  #hasSlots = false
  #hasRoot = false

  constructor(sink: DumpSink) {
    this.#sink = sink
  }

  /** Takes the next bytes of the dump, and keeps them. */
  feed(chunk: Uint8Array): void {
    const bytes = this.#carried.length === 0 ? chunk : Buffer.concat([this.#carried, chunk])
    let at = 0
    while (at < bytes.length) {
      const end = this.#token(bytes, at)
      if (end === undefined) break
      at = end
    }
    this.#carried = bytes.subarray(at)
    if (this.#carried.length > tokenBytesMax)
      throw new DumpError('it has a text that is too long for a state')
  }

  /** Ends the input. Throws if it is incomplete. */
  end(): void {
    if (this.#depth > 0 || this.#carried.length > 0) throw new DumpError('the file ends within it')
    if (!this.#hasRoot) throw new DumpError('the file is empty')
  }

  /** Reads the token at `at`; returns its end, or undefined if it is not complete yet. */
  #token(bytes: Uint8Array, at: number): number | undefined {
    const byte = bytes[at] as number
    if (byte === 0x0a) this.line++
    if (byte === 0x0a || byte === 0x20 || byte === 0x0d || byte === 0x09) return at + 1
    if (byte === 0x22) {
      const end = bytes.indexOf(0x22, at + 1)
      if (end === -1) return undefined
      this.#text(bytes, at + 1, end)
      return end + 1
    }
    if (isStructural(byte)) {
      this.#take(String.fromCharCode(byte))
      return at + 1
    }
    let end = at + 1
    while (end < bytes.length && isOfWord(bytes[end] as number)) end++
    if (end === bytes.length) return undefined
    if (this.#expected !== 'value') throw new DumpError('it is no JSON')
    this.#value(latin1Text(bytes, at, end), true)
    return end
  }

  #take(character: string): void {
    if (this.#passed > 0 || (this.#expected === 'value' && character === '[')) {
      if (character === '{' || character === '[') this.#passed++
      else if ((character === '}' || character === ']') && --this.#passed === 0) this.#expected = 'next'
      return
    }
    const expected = this.#expected
    if (character === ':' && expected === 'colon') this.#expected = 'value'
    else if (character === ',' && expected === 'next') this.#expected = 'name'
    else if (character === '}' && (expected === 'first' || expected === 'next')) this.#close()
    else if (character === '{' && expected === 'object') {
      this.#depth = 1
      this.#expected = 'first'
    } else if (character === '{' && expected === 'value' && this.#depth === 1) this.#open()
    else throw new DumpError(`it is no JSON of one account: unexpected ${character}`)
  }

  /** Opens a member that is an object. */
  #open(): void {
    if (this.#name === 'accounts')
      throw new DumpError('all accounts are in one object; make the dump again with --iterative')
    if (this.#name !== 'storage') {
      this.#passed = 1
      return
    }
    if (this.#hasSlots) throw new DumpError('"storage" is given twice')
    this.#hasSlots = true
    this.#depth = 2
    this.#expected = 'first'
  }

  #close(): void {
    if (this.#depth === 2) {
      this.#depth = 1
      this.#expected = 'next'
      return
    }
    this.#depth = 0
    this.#expected = 'object'
    this.#finishLine()
    this.#members = new Map()
    this.#hasSlots = false
  }

  #text(bytes: Uint8Array, start: number, end: number): void {
    if (this.#passed > 0) return
    if (this.#expected === 'value') {
      if (this.#depth === 2) this.#takeSlot(bytes, start, end)
      else this.#value(latin1Text(bytes, start, end), false)
      return
    }
    if (this.#expected !== 'first' && this.#expected !== 'name') throw new DumpError('it is no JSON')
    this.#expected = 'colon'
    if (this.#depth === 2)
      this.#slot = fixedHex(latin1Text(bytes, start, end), hashBytes, 'the key of a slot')
    else this.#name = latin1Text(bytes, start, end)
  }

  #takeSlot(bytes: Uint8Array, start: number, end: number): void {
    const value = trimLeft(fixedHex(latin1Text(bytes, start, end), hashBytes, 'the value of a slot'))
    if (value.length > 0) this.#sink.slot(this.#slot, value)
    this.#expected = 'next'
  }

  #value(text: string, isWord: boolean): void {
    if (this.#passed > 0) return
    if (this.#depth === 2) throw new DumpError('the value of a slot is no text')
    this.#expected = 'next'
    if (isWord && text === 'null') return
    if (this.#members.has(this.#name)) throw new DumpError(`"${excerpt(this.#name, 40)}" is given twice`)
    this.#members.set(this.#name, text)
  }

  #finishLine(): void {
    const members = this.#members
    const root = members.get('root')
    const address = members.get('address')
    if (!this.#hasRoot) {
      if (root === undefined || members.has('balance'))
        throw new DumpError('the first line has to be {"root":"0x…"}, with the state root')
      this.#hasRoot = true
      this.#sink.root(fixedHex(root, hashBytes, '"root"'))
      return
    }
    if (address === undefined)
      throw new DumpError(
        `it has no address, as none of "geth snapshot dump" has; make it by "geth dump --iterative": ${noPreimages}`,
      )
    const hash = (name: string) => {
      const text = members.get(name)
      return text === undefined ? undefined : fixedHex(text, hashBytes, `"${name}"`)
    }
    this.#sink.account({
      line: this.line,
      address: fixedHex(address, addressBytes, '"address"', addressBytes),
      nonce: integer(members.get('nonce') ?? '0', 64, '"nonce"'),
      balance: integer(members.get('balance') ?? '0', 256, '"balance"'),
      code: hexBytes(members.get('code') ?? '', '"code"'),
      codeHash: hash('codeHash'),
      storageRoot: hash('root'),
    })
  }
}

function isStructural(byte: number): boolean {
  return byte === 0x7b || byte === 0x7d || byte === 0x3a || byte === 0x2c || byte === 0x5b || byte === 0x5d
}

/**
 * Characters of numbers, `true`, `false` and `null`; other words are invalid JSON, and no member that is read has them.
 */
function isOfWord(byte: number): boolean {
  return !isStructural(byte) && byte > 0x20 && byte !== 0x22
}

function hexBytes(text: string, what: string): Uint8Array {
  const start = /^0x/i.test(text) ? 2 : 0
  const bytes = new Uint8Array((text.length - start + 1) >> 1)
  if (text.length % 2 === 1 || !writeDigits(text, start, bytes))
    throw new DumpError(`${what}: expected hex, got ${excerpt(text, 80)}`)
  return bytes
}

/** Hex of `bytesMin` to `width` bytes, with leading zeros. */
function fixedHex(text: string, width: number, what: string, bytesMin = 0): Uint8Array {
  const start = text[0] === '0' && (text[1] === 'x' || text[1] === 'X') ? 2 : 0
  const length = (text.length - start + 1) >> 1
  const bytes = new Uint8Array(width)
  if (length > width || length < bytesMin || !writeDigits(text, start, bytes))
    throw new DumpError(`${what}: expected hex of ${width} bytes, got ${excerpt(text, 80)}`)
  return bytes
}

function integer(text: string, bits: number, what: string): bigint {
  const isHex = /^0x[0-9a-f]{1,64}$/i.test(text)
  if (!isHex && !/^\d{1,78}$/.test(text))
    throw new DumpError(`${what}: expected an integer, got ${excerpt(text, 80)}`)
  const value = BigInt(text)
  if (value >= 2n ** BigInt(bits)) throw new DumpError(`${what}: expected at most ${bits} bits`)
  return value
}
