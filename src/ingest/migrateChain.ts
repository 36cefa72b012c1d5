/**
 * Makes a store of today's layout of an archive’s store of an earlier version, beside the old one, whose place it takes at
 * the end. Rows of version 5 are copied (copyRows.ts). Of versions 3 and 4 every block is read, checked as a replica checks
 * what it is sent, and applied. A run that was cut short goes on where it was.
 */
import { renameSync, rmSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { ForkSchedule } from '../chain/forks.js'
import { decodeHeader } from '../chain/header.js'
import { type BlockDiffParts, newCodeOf } from '../feed/blockDiffCodec.js'
import { previousState } from '../feed/previousState.js'
import { BlockDiffVerifier } from '../feed/verifyBlockDiff.js'
import { addressBytes, bytesToHex, equalBytes } from '../primitives/bytes.js'
import { OperatorError } from '../primitives/faults.js'
import { isThere } from '../primitives/isThere.js'
import { syncPath } from '../primitives/syncPath.js'
import { ChainWriter } from '../store/chainWriter.js'
import { rowsPerCommit } from '../store/commitRows.js'
import { copyRows, isCopyBegun, schemaOfAddressKeys } from '../store/copyRows.js'
import { type FormerBlock, FormerStore } from '../store/formerStore.js'
import { readStoredChain } from '../store/manifest.js'
import { senderBytes } from '../store/storedBlock.js'
import { upgradeFormerRows } from '../store/upgrade.js'
import { lockForWriting } from '../store/writerLock.js'

export interface Migration {
  readonly path: string
  readonly mapBytes: number
  /** Called first: bytes of the store, which the new one may take as well, and bytes that are free. */
  readonly onBegin: (storeBytes: number, freeBytes: number) => void
  /** Called now and then with what is done, and which share of it is, from 0 to 1. */
  readonly onProgress: (what: string, done: number) => void
}

/** Senders of each block that are recovered and compared, as a replica does. */
const sendersChecked = 2

/** Settles when the new store is in its place. Rejects with OperatorError for a store that cannot be brought up to date. */
export async function migrateChain(migration: Migration): Promise<void> {
  const { path, mapBytes, onProgress } = migration
  const lock = lockForWriting(path)
  const newPath = `${path}.new`
  try {
    if (readStoredChain(path, mapBytes)?.schema === schemaOfAddressKeys) {
      const stores = { path, newPath, mapBytes }
      tellRoom(migration)
      if (!(await isCopyBegun(stores))) removeStore(newPath)
      await copyRows(stores, onProgress)
    } else {
      await upgradeFormerRows({ path, mapBytes }, onProgress)
      await copyBlocks(migration, newPath)
    }
    syncPath(newPath)
    renameSync(newPath, path)
    removeStore(newPath)
    syncPath(dirname(path))
  } finally {
    lock.release()
  }
}

function tellRoom({ path, onBegin }: Migration): void {
  const { bavail, bsize } = statfsSync(dirname(path))
  onBegin(statSync(path).size, bavail * bsize)
}

async function copyBlocks(migration: Migration, newPath: string): Promise<void> {
  const { path, mapBytes, onProgress } = migration
  const former = FormerStore.open(path, mapBytes)
  try {
    tellRoom(migration)
    if (isThere(newPath) && !(await isBegunBy(newPath, mapBytes, former))) removeStore(newPath)
    const store = ChainWriter.openForWriting({ path: newPath, mapBytes })
    try {
      await copyChain(former, store, onProgress)
    } finally {
      await store.close()
    }
  } finally {
    await former.close()
  }
}

/** Whether a new store has blocks of this chain, and nothing else. */
async function isBegunBy(newPath: string, mapBytes: number, former: FormerStore): Promise<boolean> {
  try {
    const store = ChainWriter.openForWriting({ path: newPath, mapBytes })
    try {
      const head = store.readHead()
      if (head === undefined || head.number > former.head.number) return false
      return equalBytes(former.readBlock(head.number).hash, head.hash)
    } finally {
      await store.close()
    }
  } catch (error) {
    if (error instanceof OperatorError) return false
    throw error
  }
}

async function copyChain(
  former: FormerStore,
  store: ChainWriter,
  onProgress: Migration['onProgress'],
): Promise<void> {
  const { identity, head } = former
  const schedule = ForkSchedule.of(identity)
  const verifier = new BlockDiffVerifier(schedule, { sendersChecked })
  if (store.readHead() === undefined) {
    const genesis = former.readBlock(0)
    store.initialize(identity, verifier.verifyGenesis(partsOf(former, genesis), identity.development))
  }
  let landed = Promise.resolve()
  while (store.head.number < head.number) {
    store.beginBatch()
    const previous = previousState(store)
    const parts = partsOf(former, former.readBlock(previous.number + 1))
    store.apply(previous.number, [verifier.verifyBlockDiff(previous, parts)])
    if (store.heldRows < rowsPerCommit) continue
    await landed
    landed = store.commitBatch()
    onProgress('blocks', store.head.number / (head.number + 1))
  }
  await store.commitBatch()
  if (!equalBytes(store.head.hash, head.hash))
    throw new Error(`the new head is ${bytesToHex(store.head.hash)}, not ${bytesToHex(head.hash)}`)
  store.beginBatch()
  for (const { header, ...rest } of former.sideBlocks()) {
    const { number, parentHash } = decodeHeader(header)
    store.writeSideBlock({ header, number, parentHash, ...rest })
  }
  for (const name of ['safe', 'finalized'] as const) {
    const marked = former.readName(name)
    if (marked !== undefined) store.writeMarker(name, marked)
  }
  const checkpoint = former.readCheckpoint()
  if (checkpoint !== undefined) store.writeCheckpoint(checkpoint)
  await store.commitBatch()
}

function partsOf(former: FormerStore, block: FormerBlock): BlockDiffParts {
  const { accountsBefore, totalDifficulty: _, senders, ...rest } = block
  const addresses = new Uint8Array((senders.length / senderBytes) * addressBytes)
  for (let from = 0, to = 0; from < senders.length; from += senderBytes, to += addressBytes)
    addresses.set(senders.subarray(from, from + addressBytes), to)
  const code = newCodeOf((hash) => former.readCode(hash), accountsBefore, block.accounts)
  return { ...rest, senders: addresses, code }
}

function removeStore(path: string): void {
  for (const each of [path, `${path}-lock`, `${path}.writer`]) rmSync(each, { force: true })
}
