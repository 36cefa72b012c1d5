/**
 * Fetches the whole state after a block from nodes (`debug_accountRange`, `debug_storageRangeAt`) into a file that
 * `stateDump.ts` can read. A second file has the progress, which is flushed once a second, so that an interrupted fetch
 * continues. Owns the checks of a page: names against hashes, code, and an account's slots against their root.
 */
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { SortedTrie } from '../../../data/state/sortedTrie.js'
import { fullDisk, isFullDisk } from '../../../data/store/lmdb/environment.js'
import {
  addressBytes,
  bytesOfHex,
  bytesToHex,
  equalBytes,
  type Hash32,
  hashBytes,
  hexDigits,
  noBytes,
  trimLeft,
} from '../../../primitives/bytes.js'
import { waitedForLater } from '../../../primitives/deferred.js'
import { OperatorError } from '../../../primitives/faults.js'
import { isThere } from '../../../primitives/files.js'
import { excerpt, textOf } from '../../../primitives/jsonType.js'
import { emptyCodeHash, emptyTrieRoot, keccak256 } from '../../../primitives/keccak.js'
import { encodeRlp } from '../../../primitives/rlp.js'
import { accountsPerAnswer, readAccountPage } from '../../upstream/accountRange.js'
import { NodeError } from '../../upstream/upstream.js'
import type { Asked } from '../../upstream/upstreams.js'
import { noPreimages } from './stateDump.js'

/** Slots of one answer: 1 MB. */
const slotsPerAnswer = 4_096
/** Contracts whose first slots are requested in parallel, because a fetch mostly waits for round trips. */
const contractsAhead = 16
/** Time between two notes of the progress; data before a note is not fetched again. */
const noteMs = 1_000
/** Most characters of text that wait to be written, except for one answer with the longest code and slots. */
const textMax = 2 ** 20
const firstKey = `0x${'0'.repeat(64)}`

/** Requests to the nodes; see {@link StartNodes}. */
export interface StateSource {
  ask(method: string, params: readonly unknown[]): Promise<Asked>
  /** Hash of the block after a block. */
  child(number: number, hash: Hash32): Promise<string>
}

/** The block whose state is fetched. */
export interface FetchedBlock {
  readonly number: number
  readonly hash: Hash32
  readonly stateRoot: Hash32
}

/** Progress of a fetch: everything before it is in the file. */
interface Place {
  /** Hash of the block. */
  readonly block: string
  readonly bytes: number
  /** Start of the next page of accounts, and how many of it are done; if undefined, all is fetched. */
  readonly start: string | undefined
  readonly done: number
  /** Next slot of the account after these, if some of its slots are written. */
  readonly slot?: string | undefined
}

const placePath = (path: string) => `${path}.place`

/** Hash of the block whose state is fetched into a file; undefined if no fetch has begun. */
export function fetchBegun(path: string): string | undefined {
  return readPlace(path)?.block
}

export function removeFetched(path: string): void {
  for (const each of [placePath(path), path]) rmSync(each, { force: true })
}

function readPlace(path: string): Place | undefined {
  return isThere(path) && isThere(placePath(path))
    ? JSON.parse(readFileSync(placePath(path), 'utf8'))
    : undefined
}

/**
 * Fetches into the file `path`, from the end of an earlier call for this block. `goOn` gets the bytes of this call, and
 * an estimate of its total. If it returns false, the fetch ends and resolves to false. Rejects with OperatorError if
 * nodes do not have the state, do not know its names, or give impossible answers.
 */
export async function fetchState(
  path: string,
  source: StateSource,
  block: FetchedBlock,
  goOn: (bytes: number, bytesTotal: number) => boolean,
): Promise<boolean> {
  const known = readPlace(path)
  const isBegun = known?.block === bytesToHex(block.hash)
  if (isBegun && known.start === undefined) return true
  if (!isBegun) removeFetched(path)
  const file = new FetchedFile(
    path,
    isBegun ? known : { block: bytesToHex(block.hash), bytes: 0, start: firstKey, done: 0 },
  )
  try {
    return await new StateFetch(source, block, file).run(goOn)
  } finally {
    file.close()
  }
}

/** The file, written in order, and its progress. */
class FetchedFile {
  readonly first: Place
  readonly #path: string
  readonly #file: number
  #bytes: number
  #text = ''
  #notedMs = performance.now()

  constructor(path: string, place: Place) {
    this.#path = path
    this.first = place
    this.#bytes = place.bytes
    this.#file = openSync(path, isThere(path) ? 'r+' : 'w', 0o600)
    ftruncateSync(this.#file, place.bytes)
  }

  get bytes(): number {
    return this.#bytes
  }

  write(text: string): void {
    this.#text += text
    if (this.#text.length >= textMax) this.#flush()
  }

  /** Notes the progress, now or as soon as it is due. */
  note(place: Omit<Place, 'block' | 'bytes'>, isDue = performance.now() - this.#notedMs >= noteMs): void {
    if (!isDue) return
    this.#flush()
    fsyncSync(this.#file)
    const whole: Place = { ...place, block: this.first.block, bytes: this.#bytes }
    const draft = `${placePath(this.#path)}.unfinished`
    writeFileSync(draft, JSON.stringify(whole), { flush: true })
    renameSync(draft, placePath(this.#path))
    this.#notedMs = performance.now()
  }

  close(): void {
    closeSync(this.#file)
  }

  #flush(): void {
    const bytes = Buffer.from(this.#text, 'latin1')
    this.#text = ''
    try {
      for (let at = 0; at < bytes.length; )
        at += writeSync(this.#file, bytes, at, bytes.length - at, this.#bytes + at)
    } catch (error) {
      throw isFullDisk(error) ? fullDisk(this.#path, false) : error
    }
    this.#bytes += bytes.length
  }
}

interface FetchedAccount {
  readonly address: string
  readonly storageRoot: Uint8Array
  /** Line of the account without its slots and the end. */
  readonly text: string
}

interface SlotPage {
  readonly slots: readonly { readonly hash: Uint8Array; readonly slot: string; readonly value: Uint8Array }[]
  readonly next: string | undefined
  /** The node that sent it. */
  readonly name: string
}

type GoOn = (bytes: number, bytesTotal: number) => boolean

class StateFetch {
  readonly #source: StateSource
  readonly #block: FetchedBlock
  readonly #file: FetchedFile
  #child = ''

  constructor(source: StateSource, block: FetchedBlock, file: FetchedFile) {
    this.#source = source
    this.#block = block
    this.#file = file
  }

  async run(goOn: GoOn): Promise<boolean> {
    const file = this.#file
    const { number, hash, stateRoot } = this.#block
    this.#child = await this.#source.child(number, hash)
    if (file.first.bytes === 0) file.write(`{"root":"${bytesToHex(stateRoot)}"}\n`)
    let { start, done, slot }: Place = file.first
    const begun = { bytes: file.first.bytes, share: shareOf(start) }
    let asked = this.#accounts(start as string)
    while (start !== undefined) {
      const { accounts, next } = await asked
      if (next !== undefined) asked = waitedForLater(this.#accounts(next))
      const from = shareOf(start)
      const to = shareOf(next)
      for await (const [account, first] of this.#withSlots(accounts.slice(done), slot)) {
        const place = { start, done }
        if (slot === undefined) file.write(account.text)
        const goesOn = (slot?: string) => {
          file.note({ ...place, slot })
          const share = from + ((to - from) * place.done) / accounts.length - begun.share
          const bytes = file.bytes - begun.bytes
          return goOn(bytes, share > 0 ? bytes / (share / (1 - begun.share)) : 0)
        }
        if (!(await this.#writeSlots(account, first, slot === undefined, goesOn))) return false
        place.done = ++done
        slot = undefined
        if (!goesOn()) return false
      }
      start = next
      done = 0
    }
    file.note({ start, done }, true)
    return true
  }

  /** Accounts with their first slots, which are requested ahead; those of the first account begin at `slot`. */
  async *#withSlots(
    accounts: readonly FetchedAccount[],
    slot: string | undefined,
  ): AsyncGenerator<[FetchedAccount, SlotPage | undefined]> {
    const asked: Promise<SlotPage | undefined>[] = []
    for (const [at, account] of accounts.entries()) {
      for (const each of accounts.slice(at + asked.length, at + contractsAhead)) {
        const isEmpty = equalBytes(each.storageRoot, emptyTrieRoot)
        const start = each === accounts[0] ? (slot ?? firstKey) : firstKey
        asked.push(isEmpty ? Promise.resolve(undefined) : waitedForLater(this.#slots(each, start)))
      }
      yield [account, await asked.shift()]
    }
  }

  /**
   * Writes slots, and the end of the line. For an account that was begun in an earlier call, only the loader compares
   * the root.
   */
  async #writeSlots(
    account: FetchedAccount,
    first: SlotPage | undefined,
    isNew: boolean,
    goesOn: (slot: string) => boolean,
  ): Promise<boolean> {
    const trie = new SortedTrie(() => undefined)
    let count = 0
    for (let page = first; page !== undefined; ) {
      const { slots, next, name } = page
      for (const { hash, slot, value } of slots) {
        const begin = isNew && count++ === 0 ? ',"storage":{' : ','
        this.#file.write(`${begin}"${slot}":"${bytesToHex(value)}"`)
        trie.add(hash, encodeRlp(value))
      }
      if (next === undefined) {
        if (isNew && !equalBytes(trie.finish(), account.storageRoot))
          throw wrong(name, `the slots of account ${account.address} do not lead to the reported root`)
        break
      }
      if (!goesOn(next)) return false
      page = await this.#slots(account, next)
    }
    this.#file.write(first === undefined ? '}\n' : '}}\n')
    return true
  }

  async #accounts(start: string) {
    const { hash, stateRoot } = this.#block
    const { result, upstream } = await this.#ask('debug_accountRange', [
      ...[bytesToHex(hash), start, accountsPerAnswer],
      ...[false, true, true],
    ])
    const page = readAccountPage(result)
    if (page?.root.replace(/^0x/i, '') !== hexDigits(stateRoot))
      throw wrong(upstream.name, `to debug_accountRange it answers with the root ${page?.root}`)
    const { accounts, next } = page
    if (next !== undefined && BigInt(next) <= BigInt(start) && next.length >= start.length)
      throw wrong(upstream.name, `after the accounts from ${start} on it names those from ${next} on`)
    return { accounts: accounts.map(([name, json]) => readAccount(name, json, upstream.name)), next }
  }

  async #slots({ address }: FetchedAccount, start: string): Promise<SlotPage> {
    const params = [this.#child, 0, address, start, slotsPerAnswer]
    const { result, upstream } = await this.#ask('debug_storageRangeAt', params)
    const { storage, nextKey } = (result ?? {}) as Readonly<Record<string, unknown>>
    const slots = Object.entries(storage ?? {}).map(([reported, entry]) => {
      const { key, value } = (entry ?? {}) as Readonly<Record<string, unknown>>
      if (key === null)
        throw new OperatorError(`${upstream.name}: slot ${reported} of account ${address}: ${noPreimages}`)
      const slot = bytesOfHex(key, hashBytes)
      const bytes = bytesOfHex(value, hashBytes)
      const hash = slot && keccak256(slot)
      if (hash === undefined || bytes === undefined || bytesToHex(hash) !== reported.toLowerCase())
        throw wrong(upstream.name, `it reports slot ${reported} of account ${address}, which is not a slot`)
      return { hash, slot: bytesToHex(slot as Uint8Array), value: trimLeft(bytes) }
    })
    slots.sort((a, b) => Buffer.compare(a.hash, b.hash))
    const next = typeof nextKey === 'string' ? nextKey.toLowerCase() : undefined
    const ends = [start, ...slots.map(({ hash }) => bytesToHex(hash)), ...(next === undefined ? [] : [next])]
    const isInOrder = ends.every(
      (key, at) => at === 0 || key > (ends[at - 1] as string) || (at === 1 && key === start),
    )
    if (isInOrder && slots.length > 0) return { slots, next, name: upstream.name }
    throw wrong(upstream.name, `its slots of account ${address} from ${start} on are not in order`)
  }

  async #ask(method: string, params: readonly unknown[]): Promise<Asked> {
    try {
      return await this.#source.ask(method, params)
    } catch (error) {
      if (!(error instanceof NodeError)) throw error
      const { number, hash } = this.#block
      const lacks = error.upstream.policy.mayHave(method)
        ? `does not report the state after block ${number} (${bytesToHex(hash)}) (${error.message}); name a node that keeps it, ` +
          'such as an archive, or remove what was fetched to begin with a newer block'
        : `has no ${method}; let it serve the namespace debug, or name another node`
      throw new OperatorError(`${error.upstream.name} ${lacks}`)
    }
  }
}

function readAccount(name: string, json: Readonly<Record<string, unknown>>, node: string): FetchedAccount {
  const bytes = bytesOfHex(json.address ?? name, addressBytes)
  if (bytes === undefined) throw new OperatorError(`${node}: account ${excerpt(name, 80)}: ${noPreimages}`)
  const address = bytesToHex(bytes)
  const key = bytesOfHex(json.key)
  const [root, codeHash, code = noBytes] = [json.root, json.codeHash, json.code].map((each) =>
    bytesOfHex(each),
  )
  const [balance, nonce] = [json.balance, json.nonce].map((each) => textOf(each))
  const isKnown =
    root?.length === hashBytes && /^\d{1,78}$/.test(balance ?? '') && /^\d{1,20}$/.test(nonce ?? '')
  if (!isKnown || (key && !equalBytes(key, keccak256(bytes))))
    throw wrong(node, `it reports account ${address}, which is not an address`)
  if (codeHash !== undefined && !equalBytes(codeHash, code.length === 0 ? emptyCodeHash : keccak256(code)))
    throw wrong(node, `the code of account ${address} does not have the reported hash`)
  const text =
    `{"address":"${address}","balance":"${balance}","nonce":${nonce},"root":"${bytesToHex(root)}",` +
    `"code":"${bytesToHex(code)}"`
  return { address, storageRoot: root, text }
}

function wrong(node: string, what: string): OperatorError {
  return new OperatorError(`${node}: ${what}; name another node`)
}

/** Position of a key among all keys, from 0 to 1. */
function shareOf(key: string | undefined): number {
  return key === undefined ? 1 : Number.parseInt(key.slice(2, 14).padEnd(12, '0'), 16) / 2 ** 48
}
