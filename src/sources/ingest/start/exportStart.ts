/**
 * Writes the state after a block as the JSON lines that `reth init-state` reads, and that block with the headers before
 * it that BLOCKHASH may need. Another store can begin there (makeStart.ts).
 */
import { createWriteStream, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { blockRlp } from '../../../data/chain/blockRows.js'
import { decodeHeader, stateRootOf } from '../../../data/chain/header.js'
import { decodeAccount } from '../../../data/state/account.js'
import type { ChainReader } from '../../../data/store/chainReader.js'
import { ancestorsMax } from '../../../data/store/chainRows.js'
import { bytesToHex, equalBytes, type Hash32, padLeft } from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import { syncPath } from '../../../primitives/files.js'
import { emptyCodeHash } from '../../../primitives/keccak.js'

interface ExportedStart {
  /** Prefix of the file names. */
  readonly network: string
  readonly number: number
  readonly folder: string
  /** Ends the export; if absent, nothing stops it. */
  readonly stop?: AbortSignal
}

/** Characters that are passed to the packer at once. */
const textMax = 64 * 1024

/**
 * Writes the state after canonical block `number`, and its block with the headers before it. Resolves to the paths of
 * both files, which are on disk then. Rejects with OperatorError if they cannot be written, and with the reason of
 * `stop` once that is aborted; neither file is there then.
 */
export async function exportStart(
  store: ChainReader,
  { network, number, folder, stop }: ExportedStart,
): Promise<{ readonly state: string; readonly blocks: string }> {
  const state = join(folder, `${network}-${number}-state.jsonl.gz`)
  const blocks = join(folder, `${network}-${number}-blocks.rlp`)
  try {
    await write(draftOf(blocks), stop, headersUpTo(store, number))
    await write(draftOf(state), stop, inParts(stateLines(store, number)), createGzip())
    for (const path of [blocks, state]) renameSync(draftOf(path), path)
  } finally {
    for (const path of [blocks, state]) rmSync(draftOf(path), { force: true })
  }
  return { state, blocks }
}

/** The path of a file until both files are complete. */
const draftOf = (path: string) => `${path}.unfinished`

/** The file is on disk when this resolves. */
async function write(
  path: string,
  stop: AbortSignal | undefined,
  parts: Iterable<Uint8Array | string>,
  ...packers: NodeJS.ReadWriteStream[]
) {
  try {
    await pipeline([Readable.from(parts), ...packers, createWriteStream(path)], { signal: stop })
  } catch (error) {
    stop?.throwIfAborted()
    if (error instanceof OperatorError) throw error
    const { code = (error as Error).message } = error as NodeJS.ErrnoException
    throw new OperatorError(
      `cannot write ${path} (${code}); check the path, its permissions and the free space`,
    )
  }
  syncPath(path)
}

/** The block, if its body is kept, and the headers before it. */
function* headersUpTo(store: ChainReader, number: number): Generator<Uint8Array> {
  for (let at = number; at >= Math.max(0, number - ancestorsMax); at--) {
    const hash = store.readCanonicalHash(at)
    const header = hash && store.readHeader(hash)
    if (header === undefined) throw new OperatorError(`the header of block ${at} is not kept`)
    const isKept = at === number && at >= store.readOldestKept().bodies
    const body = isKept ? store.readBody(hash as Hash32) : undefined
    yield body === undefined ? header : blockRlp(header, body)
  }
}

function* stateLines(store: ChainReader, number: number): Generator<string> {
  const hash = store.readCanonicalHash(number)
  const header = hash && store.readHeader(hash)
  if (header === undefined) throw new OperatorError(`there is no block ${number}`)
  const { development } = store.readIdentity() ?? {}
  yield `{"root":"${bytesToHex(stateRootOf(decodeHeader(header), development))}"}\n`
  for (const [address, rlp] of store.accountsAt(number)) {
    const { nonce, balance, codeHash } = decodeAccount(rlp)
    yield `{"address":"${bytesToHex(address)}","balance":"0x${balance.toString(16)}","nonce":${nonce}`
    if (!equalBytes(codeHash, emptyCodeHash)) {
      const code = store.readCode(codeHash)
      if (code === undefined) throw new Error(`the code ${bytesToHex(codeHash)} is missing`)
      yield `,"code":"${bytesToHex(code)}"`
    }
    let count = 0
    for (const [slot, value] of store.slotsOfAt(address, number)) {
      yield `${count++ === 0 ? ',"storage":{' : ','}"${bytesToHex(slot)}":"${bytesToHex(padLeft(value, 32))}"`
    }
    yield count === 0 ? '}\n' : '}}\n'
  }
}

function* inParts(texts: Iterable<string>): Generator<string> {
  let part = ''
  for (const text of texts) {
    part += text
    if (part.length < textMax) continue
    yield part
    part = ''
  }
  yield part
}
