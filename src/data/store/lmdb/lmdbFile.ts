/**
 * Checks a file before LMDB maps it. LMDB trusts the content: a file of another kind, or a truncated one, ends the
 * whole process with a signal. The checks read two pages; only `tidegate verify` finds damage within pages.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  linkSync,
  openSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { OperatorError } from '../../../primitives/faults.js'
import { runHelper, walkStatus } from './helperProcess.js'

/** Two meta pages of the smallest page size, which every non-empty LMDB file has. */
const fileBytesMin = 8192

/**
 * Offsets in a meta page of lmdb-js's layout, all in the machine's byte order. In order: LMDB's magic number, the page
 * size, and the roots of the free-page list and of the table list. Then follow the last page and the transaction
 * number.
 */
const magicOffset = 24
const pageBytesOffset = 48
const rootOffsets = [88, 136]
const lastPageOffset = 144
const transactionOffset = 152
const metaBytes = 160

const magic = 0xbeefc0de
/** Root of an empty tree. */
const noPage = 2n ** 64n - 1n

/**
 * Throws OperatorError unless `path` is absent, empty (LMDB then makes a store), or an LMDB file of the length in its
 * meta page. A file may be shorter if its last pages are free. To find out, another process reads the whole file,
 * because it may crash. `mapBytes` is the address space that the store may take. Throws OperatorError if that process
 * gives no answer, and Error if the needed lock file has no room on the disk.
 */
export function assertLmdbFile(path: string, mapBytes: number): void {
  const found = inspect(path)
  if (found === 'whole') return
  if (found === 'foreign') {
    throw new OperatorError(
      `${path} is not a store of Tidegate, or is damaged; check --data, or move that file away`,
    )
  }
  if (found === 'cut' || !canBeWalked(path, mapBytes)) {
    throw new OperatorError(
      `the store ${path} is damaged: its end is missing; restore a copy, or move that file away and make it anew`,
    )
  }
}

/** LMDB follows a damaged reference out of its map, or ends the process at a page that contradicts itself. */
const signalsOfDamage: readonly (string | null)[] = ['SIGSEGV', 'SIGBUS', 'SIGABRT']

function canBeWalked(path: string, mapBytes: number): boolean {
  makeLockFile(path)
  const { status, signal, account } = runHelper('walkStore', [path, String(mapBytes)])
  if (status === walkStatus.whole) return true
  if (status === walkStatus.damaged || signalsOfDamage.includes(signal)) return false
  throw new OperatorError(
    `cannot check the store ${path}, whose file is shorter than it says (${account}); that says nothing of the store: remove the cause and start again`,
  )
}

/** `short`: perhaps only free pages are missing. `cut`: a page in use is missing. */
function inspect(path: string): 'whole' | 'foreign' | 'short' | 'cut' {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'whole'
    throw new OperatorError(`cannot open the store ${path}; check that it is a file and that you may read it`)
  }
  try {
    const { size } = fstatSync(file)
    if (size === 0) return 'whole'
    const first = readMeta(file, 0)
    const isForeign = ![first.readUInt32LE(magicOffset), first.readUInt32BE(magicOffset)].includes(magic)
    if (size < fileBytesMin || isForeign) return 'foreign'
    // LMDB itself recognises a store of the other byte order.
    if (first.readUInt32LE(magicOffset) !== magic) return 'whole'
    const pageBytes = first.readUInt32LE(pageBytesOffset)
    const second = readMeta(file, pageBytes)
    const isSecond = second.readBigUInt64LE(transactionOffset) > first.readBigUInt64LE(transactionOffset)
    const meta = isSecond ? second : first
    // The file size is read after the meta pages, because another process may be writing.
    const pages = BigInt(Math.floor(fstatSync(file).size / pageBytes))
    const roots = rootOffsets.map((offset) => meta.readBigUInt64LE(offset))
    if (roots.some((root) => root !== noPage && root >= pages)) return 'cut'
    return meta.readBigUInt64LE(lastPageOffset) < pages ? 'whole' : 'short'
  } catch {
    throw new OperatorError(`cannot read the store ${path}; check that it is a file and that you may read it`)
  } finally {
    closeSync(file)
  }
}

/** A meta page; zeros beyond the end of the file. */
function readMeta(file: number, offset: number): Buffer {
  const page = Buffer.alloc(metaBytes)
  readSync(file, page, 0, metaBytes, offset)
  return page
}

/** A table of 1,024 readers, 64 bytes each, and LMDB's header. */
const lockFileBytes = 68 * 1024

/**
 * Makes the lock file of a store if there is none. LMDB would make a sparse one, and would crash the process when a
 * reader takes a slot while the disk is full. Throws Error if there is no room.
 */
export function makeLockFile(storePath: string): void {
  const path = `${storePath}-lock`
  if (existsSync(path)) return
  const draft = `${path}.${process.pid}-${performance.now()}`
  try {
    writeFileSync(draft, new Uint8Array(lockFileBytes), { flag: 'wx' })
    // Another process may have made it first; then that file is used.
    linkSync(draft, path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // LMDB itself reports a read-only folder, if it must write there.
    if (code !== 'EEXIST' && code !== 'EROFS' && code !== 'EACCES') throw error
  } finally {
    rmSync(draft, { force: true })
  }
}
