// @shares
/** Refused starts, by their messages; nothing of them is left. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { decodeAccount } from '../../../../../src/data/state/account.js'
import { ChainReader } from '../../../../../src/data/store/chainReader.js'
import { mapBytesDefault } from '../../../../../src/data/store/lmdb/environment.js'
import { bytesToHex, toAddress } from '../../../../../src/primitives/bytes.js'
import { OperatorError } from '../../../../../src/primitives/faults.js'
import { importFiles } from '../../../../../src/sources/ingest/blocks/importFiles.js'
import { exportStart } from '../../../../../src/sources/ingest/start/exportStart.js'
import type { StartPlan } from '../../../../../src/sources/ingest/thread/messages.js'
import { verifyChain } from '../../../../../src/sources/ingest/verify/verifyChain.js'
import { makeState } from '../../../../ingest/madeState.js'
import { makeFolder, writeInto } from '../../../../library/folder.js'
import { blockAt, blockBytes, chainPath, genesisPath } from '../../../../rpc/demoChain.js'
import { fixtureDir } from '../../../../service/fixtures.js'
import { storePathOf } from '../../../../service/program.js'

const start = 200
const folder = makeFolder(t)
const demo = ChainReader.open({ path: storePathOf(fixtureDir, 'demo') })
const files = await exportStart(demo, { network: 'demo', number: start, folder })
const lines = gunzipSync(readFileSync(files.state)).toString().trimEnd().split('\n')
const total = blockAt(start).totalDifficulty
let serial = 0

/** Imports into a store of its own; resolves to its path. */
async function load(
  plan: Partial<StartPlan>,
  {
    chain = [] as readonly string[],
    genesis = genesisPath,
    signal = new AbortController().signal,
    history = undefined as number | undefined,
  } = {},
): Promise<string> {
  const storePath = storePathOf(join(folder, `data${serial++}`), 'x')
  const task = {
    storePath,
    mapBytes: mapBytesDefault,
    files: chain,
    genesis: { text: readFileSync(genesis, 'utf8'), path: genesis },
    ...(history !== undefined && {
      history: { state: history, trie: history, receipts: history, bodies: history },
    }),
    start: { headers: [files.blocks], state: files.state, hash: undefined, totalDifficulty: total, ...plan },
  }
  await importFiles(task, { report: () => undefined, signal })
  return storePath
}

/**
 * Expects that the import is refused with this sentence, and leaves nothing that a server or another import would use.
 */
async function refuses(t: Test, plan: Partial<StartPlan>, message: RegExp, what: string): Promise<void> {
  const at = serial
  const error: unknown = await load(plan).catch((thrown: unknown) => thrown)
  t.ok(error instanceof OperatorError, `${what}: ${error}`)
  t.match(String(error), message, what)
  const path = dirname(storePathOf(join(folder, `data${at}`), 'x'))
  t.strictSame(existsSync(path) ? readdirSync(path) : [], [], `${what}: nothing is left`)
}

/** A dump with some lines replaced. */
function dump(change: (lines: string[]) => string[]): Partial<StartPlan> {
  return { state: writeInto(folder, `dump${serial}.jsonl`, change([...lines]).join('\n')) }
}

const indexOf = (part: string) => lines.findIndex((line) => line.includes(part))
const contract = indexOf('"storage"')
const plain = lines.findIndex((line) => line.includes('"nonce":1}'))

t.test('a state that is not that of the block is refused', async (t) => {
  const wrongRoot = /accounts and \d+ slots of the dump lead to the state root 0x\w+, and block 200 \(0x/
  const replaced = (at: number, from: RegExp | string, to: string) =>
    dump((all) => all.map((line, index) => (index === at ? line.replace(from, to) : line)))
  await refuses(
    t,
    replaced(contract, /"storage":\{"(0x\w+)":"0x\w{64}"/, `"storage":{"$1":"0x${'7'.repeat(64)}"`),
    wrongRoot,
    'a wrong slot',
  )
  await refuses(t, replaced(plain, '"nonce":1', '"nonce":2'), wrongRoot, 'a wrong nonce')
  await refuses(
    t,
    dump((all) => all.filter((_, at) => at !== plain)),
    wrongRoot,
    'a missing account',
  )
  await refuses(
    t,
    dump((all) => all.slice(0, -1)),
    wrongRoot,
    'a file that ends after a line',
  )
  const codes = lines.flatMap((line, at) =>
    /"code":"0x\w+"/.test(line) ? [[at, /"code":"(0x\w+)"/.exec(line)?.[1]] as const] : [],
  )
  const [[first, code], [second, other]] = codes as [[number, string], [number, string]]
  const swap = (all: string[]) =>
    all.map((line, at) =>
      at === first ? line.replace(code, other) : at === second ? line.replace(other, code) : line,
    )
  await refuses(t, dump(swap), wrongRoot, 'swapped code')
  await refuses(
    t,
    dump((all) => [...all, all[plain] as string]),
    new RegExp(`account 0x\\w+ is in line ${plain + 1} and in line ${lines.length + 1}`),
    'a doubled line',
  )
  const cut = dump((all) => [...all.slice(0, -1), (all.at(-1) as string).slice(0, -5)])
  await refuses(t, cut, new RegExp(`line ${lines.length}: the file ends within it`), 'a cut line')
  await refuses(
    t,
    { headers: [writeInto(folder, 'other.rlp', Buffer.concat(blockBytes.slice(0, 199)))] },
    /the dump is of a state with the root 0x\w+, and block 199/,
    'a header of another block',
  )
})

t.test("what go-ethereum's dump tells of an account names it", async (t) => {
  const asGeth = (line: string): string => {
    const { address, balance, storage = {}, ...rest } = JSON.parse(line)
    const { storageRoot, codeHash } = decodeAccount(
      demo.readAccountAt(toAddress(Buffer.from(address.slice(2), 'hex')), start) as Uint8Array,
    )
    const values = Object.entries<string>(storage).map(([slot, value]) => [
      slot,
      value.replace(/^0x(00)*/, ''),
    ])
    return JSON.stringify({
      balance: BigInt(balance).toString(),
      ...rest,
      root: bytesToHex(storageRoot),
      codeHash: bytesToHex(codeHash),
      storage: Object.fromEntries(values),
      address,
      key: `0x${'11'.repeat(32)}`,
    })
  }
  const geth = lines.map((line, at) => (at === 0 ? line : asGeth(line)))
  const path = await load({ state: writeInto(folder, 'geth.jsonl', geth.join('\n')) })
  t.ok(existsSync(path), 'the whole dump is taken')
  const wrong = (change: (line: string) => string) => ({
    state: writeInto(
      folder,
      `geth${serial}.jsonl`,
      geth.map((line, at) => (at === contract ? change(line) : line)).join('\n'),
    ),
  })
  const named = `line ${contract + 1}: `
  await refuses(
    t,
    wrong((line) => line.replace(/"storage":\{"0x\w+":"\w+",?/, '"storage":{')),
    new RegExp(`${named}the slots of account 0x\\w+ lead to the root`),
    'a missing slot',
  )
  await refuses(
    t,
    wrong((line) => line.replace(/"code":"0x\w\w/, '"code":"0xfe')),
    new RegExp(`${named}account 0x\\w+: its code has the hash`),
    'other code',
  )
})

t.test('headers that do not lead to the block, or too few, are refused', async (t) => {
  const without = (...numbers: number[]) => ({
    headers: [
      writeInto(
        folder,
        `some${serial}.rlp`,
        Buffer.concat(blockBytes.slice(0, start).filter((_, at) => !numbers.includes(at + 1))),
      ),
    ],
  })
  await refuses(
    t,
    without(150),
    /the header of block 150 \(0x\w+\) is missing; name the headers of the 256/,
    'a gap',
  )
  t.ok(existsSync(await load(without())), 'blocks from the first one on, as the genesis is known')
  await refuses(
    t,
    { hash: blockAt(199).hash },
    /the newest header is block 200 \(0x\w+\), not 0x/,
    'another hash',
  )
  await refuses(
    t,
    { totalDifficulty: undefined, headers: [chainPath, files.blocks], hash: blockAt(3).hash },
    /the newest header is block 264/,
    'a newer header',
  )
  const block = Buffer.from(blockBytes[start - 1] as Uint8Array)
  block[block.length - 40] = (block[block.length - 40] as number) ^ 1
  await refuses(
    t,
    { headers: [writeInto(folder, 'bad.rlp', block), files.blocks] },
    /block 200 \(0x\w+\) is not whole|not a block/,
    'a body that was changed',
  )
})

t.test(
  'blocks go on from there, a branch below it is refused, and what is known is passed over',
  async (t) => {
    const path = await load({ hash: blockAt(start).hash }, { chain: [chainPath] })
    const store = ChainReader.open({ path })
    t.equal(store.readHead()?.number, 264)
    t.strictSame(verifyChain(store, { blocks: 3, seed: 1, onProgress: () => undefined }).faults, [])
    await store.close()
    const made = makeState(folder, 40, 5)
    const plan = { headers: [made.header], state: made.state, totalDifficulty: undefined }
    const own = await load(plan, { genesis: made.genesis })
    const again = ChainReader.open({ path: own })
    t.strictSame(verifyChain(again, { blocks: 1, seed: 1, onProgress: () => undefined }).faults, [])
    t.equal(again.readIdentity()?.start?.number, 1)
    await again.close()
    // Blocks of the demo chain, of which none follows on that one.
    await t.rejects(
      importFiles(
        {
          storePath: own,
          mapBytes: mapBytesDefault,
          files: [chainPath],
          genesis: undefined,
          start: undefined,
        },
        { report: () => undefined, signal: new AbortController().signal },
      ),
      /block 1 \(0x\w+\) is invalid: .*parts below block 1 \(0x\w+\), at which this store begins|its parent/,
    )
  },
)

t.test('where history is limited, it is cut from there on, and what is kept verifies', async (t) => {
  for (const [history, oldest] of [
    [30, 234],
    [100, start],
  ] as const) {
    const path = await load({}, { chain: [chainPath], history })
    const store = ChainReader.open({ path })
    t.match(store.readOldestKept(), { state: oldest, trie: oldest }, `${history} blocks`)
    t.equal(store.readIdentity()?.start?.number, start)
    t.strictSame(verifyChain(store, { blocks: 5, seed: 1, onProgress: () => undefined }).faults, [])
    await store.close()
  }
})

t.test('a load that is stopped leaves nothing', async (t) => {
  const at = serial
  await load({}, { signal: AbortSignal.abort() })
  t.notOk(existsSync(storePathOf(join(folder, `data${at}`), 'x')))
})

t.teardown(() => demo.close())
