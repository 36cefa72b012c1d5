import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { ChainIdentity } from '../../../../../src/data/store/chainRows.js'
import { type CanonicalHeader, GatewayWriter } from '../../../../../src/data/store/gatewayWriter.js'
import { bytesToHex, equalBytes, type Hash32, toHash32 } from '../../../../../src/primitives/bytes.js'
import { OperatorError } from '../../../../../src/primitives/faults.js'
import { importBeneath } from '../../../../../src/sources/ingest/era/importBeneath.js'
import type { IngestMessage } from '../../../../../src/sources/ingest/thread/messages.js'
import {
  archivedConfig,
  type MadeBlock,
  makeBlocks,
  writeArchive,
  writeEre,
} from '../../../../ingest/eraArchives.js'
import { makeFolder } from '../../../../library/folder.js'

const chain = makeBlocks(60)
/** The gateway's own headers begin with this block. */
const linkedFrom = 50
const mapBytes = 2 ** 26
const identity: ChainIdentity = {
  chainId: '1',
  networkId: '1',
  genesisHash: bytesToHex((chain[0] as MadeBlock).hash),
  config: JSON.stringify(archivedConfig),
  gateway: true,
}

function headerOf({ number, hash, header }: MadeBlock): CanonicalHeader {
  return {
    number,
    hash: toHash32(hash),
    header,
    totalDifficulty: undefined,
  }
}

function openStore(folder: string): GatewayWriter {
  return GatewayWriter.open({ path: join(folder, 'chain.mdb'), mapBytes })
}

/** A folder with the store of a gateway that has the newest headers of the chain. */
async function makeGateway(t: Test, blocks = chain, from = linkedFrom): Promise<string> {
  const folder = makeFolder(t)
  const store = openStore(folder)
  store.begin(identity)
  store.advance(from - 1, blocks.slice(from).map(headerOf), true)
  await store.close()
  return folder
}

/** Writes blocks of the chain, `first` to `last`, as an archive. */
function writePart(folder: string, first: number, last: number, blocks = chain): string {
  const path = join(folder, `toy-${first}-${last}.era1`)
  writeArchive(path, blocks.slice(first, last + 1))
  return path
}

interface Outcome {
  readonly messages: readonly IngestMessage[]
  readonly error: Error | undefined
}

async function take(
  folder: string,
  archives: readonly string[],
  shouldStop: () => boolean = () => false,
): Promise<Outcome> {
  const messages: IngestMessage[] = []
  const task = { storePath: join(folder, 'chain.mdb'), mapBytes, identity, archives, bytesTotal: 1 }
  try {
    const signal = {
      get aborted() {
        return shouldStop()
      },
    } as AbortSignal
    const report = (message: IngestMessage) => messages.push(message)
    await importBeneath({ ...task, accumulators: undefined }, { report, signal })
    return { messages, error: undefined }
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    return { messages, error }
  }
}

/** Every block that is linked must be the chain's, and must be complete from `wholeFrom` on. */
async function checkStore(
  t: Test,
  folder: string,
  from: number,
  wholeTo: number,
  blocks = chain,
): Promise<void> {
  const store = openStore(folder)
  try {
    t.equal(store.readLinkedFrom(), from)
    for (const block of blocks) {
      const { number, body, receipts } = block
      const hash = toHash32(block.hash)
      const row = store.readCanonicalRow(number)
      if (number < from) {
        if (row !== undefined || store.hasHeader(hash)) t.fail(`block ${number} is stored and not linked`)
        continue
      }
      if (!row?.is(hash)) t.fail(`block ${number} is not the chain's`)
      if (number > wholeTo) continue
      const gotBody = store.readBody(hash)
      const gotReceipts = store.readReceipts(hash)
      if (!same(gotBody, body) || !same(gotReceipts, receipts)) t.fail(`block ${number} is not whole`)
      for (let at = 20; at < (row?.senders.length ?? 0); at += 52) {
        const location = store.readLocation(row?.senders.slice(at, at + 32) as Hash32)
        if (location === undefined || !equalBytes(location.blockHash, hash))
          t.fail(`block ${number}: location`)
      }
    }
    t.pass(`blocks ${from} to ${wholeTo}`)
  } finally {
    await store.close()
  }
}

function same(a: Uint8Array | undefined, b: Uint8Array): boolean {
  return a !== undefined && equalBytes(a, b)
}

t.test('archives are taken from the head down, in whatever order of epochs they link', async (t) => {
  const folder = await makeGateway(t)
  const paths = [writePart(folder, 0, 19), writePart(folder, 20, 39), writePart(folder, 40, 55)]
  const { error, messages } = await take(folder, paths)
  t.equal(error, undefined)
  t.match(messages.at(-1), { type: 'finished', progress: { number: 0, executed: 56, known: 0 } })
  const epochs = messages.filter(({ type }) => type === 'epoch')
  t.match(epochs, [
    { first: 40, last: 55, link: 'head' },
    { first: 20, last: 39 },
    { first: 0, last: 19 },
  ])
  await checkStore(t, folder, 0, 55)
  const store = openStore(folder)
  const total = store.readTotalDifficulty(toHash32((chain[59] as MadeBlock).hash))
  t.equal(bytesToHex(total ?? new Uint8Array()), '0xea60')
  await store.close()
  const again = await take(folder, paths)
  t.match(again.messages.at(-1), { type: 'finished', progress: { executed: 0, known: 56 } })
})

t.test('an archive without receipts leaves them to upstreams', async (t) => {
  const folder = await makeGateway(t)
  const path = join(folder, 'toy.ere')
  writeEre(path, chain.slice(30, 50), { receipts: false, totals: false })
  t.equal((await take(folder, [path])).error, undefined)
  const store = openStore(folder)
  t.equal(store.readLinkedFrom(), 30)
  const hash = toHash32((chain[35] as MadeBlock).hash)
  t.ok(store.readBody(hash))
  t.equal(store.readReceipts(hash), undefined)
  await store.close()
})

t.test('what does not link is refused in a sentence, and nothing of it is stored', async (t) => {
  const folder = await makeGateway(t)
  const gap = await take(folder, [writePart(folder, 0, 30)])
  t.match(
    gap.error?.message,
    /toy-0-30.era1: it ends with block 30, and the gateway's chain of headers begins with block 50; import the archives between them first, or start the gateway with "historyBlocks" of 28 or more/,
  )
  const longer = [...chain, ...makeBlocks(5, 60, chain.at(-1))]
  const above = await take(folder, [writePart(folder, 40, 64, longer)])
  t.match(above.error?.message, /it ends with block 64, above the gateway's head 59; start the gateway/)
  const other = makeBlocks(10, 40, {
    ...(chain[39] as MadeBlock),
    hash: toHash32(new Uint8Array(32).fill(9)),
  })
  const path = join(folder, 'other.era1')
  writeArchive(path, other)
  const stranger = await take(folder, [path])
  t.match(
    stranger.error?.message,
    /other.era1: its block 49 is 0x.{64}, and on the gateway's chain it is 0x.{64}; the archive is of another chain or branch/,
  )
  await checkStore(t, folder, linkedFrom, -1)
  const empty = makeFolder(t)
  const store = openStore(empty)
  store.begin(identity)
  await store.close()
  t.match((await take(empty, [writePart(folder, 0, 19)])).error?.message, /has no head yet .* start it/)
})

t.test('a damaged archive ends the import, and the blocks above the damage stay', async (t) => {
  const folder = await makeGateway(t)
  const path = writePart(folder, 0, 55)
  const bytes = readFileSync(path)
  const at = bytes.length >> 1
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  writeFileSync(path, bytes)
  const { error } = await take(folder, [path])
  t.match(error?.message, /toy-0-55.era1: /)
  const store = openStore(folder)
  const from = store.readLinkedFrom() ?? 0
  await store.close()
  t.ok(from > 0 && from < linkedFrom, `${from}`)
  await checkStore(t, folder, from, 55)
  t.equal((await take(folder, [writePart(makeFolder(t), 0, 55)])).error, undefined)
  await checkStore(t, folder, 0, 55)
})

t.test('an import that was stopped goes on below what it has', async (t) => {
  const long = makeBlocks(1_500)
  // So that the second imported block already extends the chain of headers, if each has a turn of its own.
  const folder = await makeGateway(t, long, 1_495)
  const paths = [writePart(folder, 0, 999, long), writePart(folder, 1_000, 1_495, long)]
  let turns = 0
  const stopped = await take(folder, paths, () => ++turns === 2)
  t.match(stopped.messages.at(-1), { type: 'finished', stopped: true })
  const store = openStore(folder)
  const from = store.readLinkedFrom() ?? 0
  await store.close()
  t.ok(from > 0 && from < 1_495, `${from}`)
  await checkStore(t, folder, from, 1_495, long)
  const { messages } = await take(folder, paths)
  t.match(messages.at(-1), { type: 'finished', stopped: false, progress: { number: 0 } })
  await checkStore(t, folder, 0, 1_495, long)
})
