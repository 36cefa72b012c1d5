// @shares
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pack, unpack } from 'msgpackr'
import t, { type Test } from 'tap'
import type { BlockDiff } from '../../../../src/data/store/blockDiff.js'
import { ChainReader } from '../../../../src/data/store/chainReader.js'
import type { ChainIdentity } from '../../../../src/data/store/chainRows.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { encodeTrieRow } from '../../../../src/data/store/layouts/trieRow.js'
import { openEnvironment, openTable } from '../../../../src/data/store/lmdb/environment.js'
import { metaKeys, schemaVersion } from '../../../../src/data/store/tables.js'
import { accountTrie, trieKey } from '../../../../src/data/store/trieRows.js'
import { bytesToHex, concatBytes, type Hash32, toHash32 } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { encodeRlp } from '../../../../src/primitives/rlp.js'
import { once } from '../../../library/until.js'
import { onSmallDisk, withoutSmallDisk } from '../../../store/smallDisk.js'
import { differences, dumpStore } from '../../../store/storeDump.js'

const mapBytes = 2 ** 30
const identity: ChainIdentity = { chainId: '1', networkId: '1', genesisHash: '0x01', config: '{}' }
const zeroHash = toHash32(new Uint8Array(32))

function makeBlockDiff(number: number, parentHash: Hash32, bodyBytes = 10): BlockDiff {
  const hash = keccak256(concatBytes(parentHash, Uint8Array.of(number & 255, number >> 8)))
  const address = hash.slice(0, 20)
  return {
    number,
    hash,
    parentHash,
    header: hash,
    body: new Uint8Array(bodyBytes).fill(number),
    senders: concatBytes(address, hash),
    receipts: Uint8Array.of(0xc0),
    totalDifficulty: Uint8Array.of(1),
    accounts: [[address, Uint8Array.of(1 + (number % 255))]],
    slots: [[concatBytes(address, hash), Uint8Array.of(1 + (number % 255))]],
    trie: [
      [
        trieKey(
          accountTrie,
          hash.map((byte) => byte & 15),
        ),
        rowOf(number),
      ],
    ],
    code: [],
  }
}

/** A row of a trie with one leaf. */
function rowOf(number: number): Uint8Array {
  const leaf = encodeRlp([new Uint8Array(33).fill(0x20), new Uint8Array(9).fill(number)])
  return encodeTrieRow({ extension: new Uint8Array(0), children: [], leaf })
}

async function makeStore(path: string, bytes = mapBytes): Promise<void> {
  const store = ChainWriter.openForWriting({ path, mapBytes: bytes })
  store.initialize(identity, makeBlockDiff(0, zeroHash))
  await store.close()
}

async function changeMeta(path: string, change: (identity: Record<string, unknown>) => unknown) {
  const environment = openEnvironment({ path, readOnly: false, mapBytes })
  const meta = openTable(environment, 'meta')
  const row = unpack(meta?.getBinary(metaKeys.identity) as Uint8Array)
  meta?.putSync(metaKeys.identity, pack(change(row)))
  await environment.close()
}

for (const schema of [schemaVersion - 1, schemaVersion + 1])
  t.test(`a store of schema version ${schema} is refused and left as it was`, async (t) => {
    const path = join(t.testdir(), 'chain.mdb')
    await makeStore(path)
    await changeMeta(path, (row) => ({ ...row, schema }))
    const before = readFileSync(path)
    const expected = {
      name: 'OperatorError',
      message: new RegExp(
        `has schema ${schema}, this version of tidegate reads ${schemaVersion}; .* "tidegate import"`,
      ),
    }
    t.throws(() => ChainReader.open({ path, mapBytes }), expected)
    // LMDB ends a refused opening in the next turn.
    await new Promise(setImmediate)
    t.throws(() => ChainWriter.openForWriting({ path, mapBytes }), expected)
    await new Promise(setImmediate)
    t.equal(existsSync(`${path}.writer`), false, 'the lock is given back')
    t.ok(before.equals(readFileSync(path)), 'no byte of it is another')
    await changeMeta(path, (row) => ({ ...row, schema: schemaVersion }))
    await ChainReader.open({ path, mapBytes }).close()
  })

t.test('a store of another chain is refused and left as it was', async (t) => {
  const path = join(t.testdir(), 'chain.mdb')
  await makeStore(path)
  const store = ChainWriter.openForWriting({ path, mapBytes })
  t.teardown(() => store.close())
  const before = dumpStore(store)
  t.throws(() => store.initialize({ ...identity, genesisHash: '0x02' }, makeBlockDiff(0, zeroHash, 20)), {
    name: 'OperatorError',
    message: /is of the chain with genesis 0x01, not 0x02/,
  })
  t.strictSame(differences(dumpStore(store), before), [])
  store.initialize(identity, makeBlockDiff(0, zeroHash))
  t.strictSame(differences(dumpStore(store), before), [])
})

t.test('a file that is none of ours, or no store yet, is refused', async (t) => {
  const folder = t.testdir({ 'text.mdb': 'hello '.repeat(5_000) })
  const text = join(folder, 'text.mdb')
  for (const open of [ChainReader.open, ChainWriter.openForWriting]) {
    t.throws(() => open({ path: text, mapBytes }), { name: 'OperatorError', message: /is not a store/ })
  }
  t.throws(() => ChainReader.open({ path: join(folder, 'none.mdb'), mapBytes }), { name: 'OperatorError' })
  t.equal(existsSync(join(folder, 'none.mdb')), false)
  const path = join(folder, 'empty.mdb')
  await ChainWriter.openForWriting({ path, mapBytes }).close()
  t.throws(() => ChainReader.open({ path, mapBytes }), { name: 'OperatorError', message: /holds no chain/ })
  t.equal(readFileSync(text, 'utf8'), 'hello '.repeat(5_000))
})

const childSource = (path: string, then: string) => `
  import { ChainWriter } from ${JSON.stringify(new URL('../../../../src/data/store/chainWriter.js', import.meta.url).href)}
  const store = ChainWriter.openForWriting({ path: ${JSON.stringify(path)}, mapBytes: 2 ** 30 })
  ${then}
`

function startChild(path: string, then: string) {
  return spawn(process.execPath, ['--input-type=module', '-e', childSource(path, then)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
}

t.test('a second writer is refused and told who holds the store', async (t) => {
  const path = join(t.testdir(), 'chain.mdb')
  await makeStore(path)
  const child = startChild(path, 'console.log("open"); process.stdin.resume()')
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  t.throws(() => ChainWriter.openForWriting({ path, mapBytes }), {
    name: 'OperatorError',
    message: new RegExp(`is being written by process ${child.pid}\\b`),
  })
  await ChainReader.open({ path, mapBytes }).close()
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.ok(existsSync(`${path}.writer`), 'the lock of the killed process stays')
  const store = ChainWriter.openForWriting({ path, mapBytes })
  t.throws(() => ChainWriter.openForWriting({ path, mapBytes }), {
    message: new RegExp(`is being written by process ${process.pid}\\b`),
  })
  await store.close()
  t.strictSame(
    readdirSync(join(path, '..')).filter((name) => name.includes('writer')),
    [],
    'nothing is left of the locks',
  )
})

t.test('a reader beside a writer sees whole blocks only', async (t) => {
  const path = join(t.testdir(), 'chain.mdb')
  await makeStore(path)
  const blocks = 300
  const child = startChild(
    path,
    `
    import { keccak256 } from ${JSON.stringify(new URL('../../../../src/primitives/keccak.js', import.meta.url).href)}
    import { encodeRlp } from ${JSON.stringify(new URL('../../../../src/primitives/rlp.js', import.meta.url).href)}
    import { encodeTrieRow } from ${JSON.stringify(new URL('../../../../src/data/store/layouts/trieRow.js', import.meta.url).href)}
    import { accountTrie, trieKey } from ${JSON.stringify(new URL('../../../../src/data/store/trieRows.js', import.meta.url).href)}
    const concatBytes = (...parts) => new Uint8Array(Buffer.concat(parts))
    ${rowOf.toString()}
    ${makeBlockDiff.toString()}
    let parent = store.readHead()
    for (let n = 1; n <= ${blocks}; n++) {
      const diff = makeBlockDiff(n, parent.hash)
      store.apply(n - 1, [diff])
      parent = diff
      if (n % 7 === 0) { store.apply(n - 1, []); store.apply(n - 1, [diff]) }
    }
    await store.close()
    console.log('done')
  `,
  )
  const done = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  let running = true
  done.then(() => {
    running = false
  })
  const reader = ChainReader.open({ path, mapBytes })
  t.teardown(() => reader.close())
  const seen = new Set<number>()
  const torn: string[] = []
  while (running) {
    await new Promise(setImmediate)
    reader.refresh()
    const head = reader.readHead()
    if (head === undefined) throw new Error('no head')
    seen.add(head.number)
    const { number, hash } = head
    const address = hash.slice(0, 20) as Parameters<typeof reader.readAccount>[0]
    const whole =
      bytesToHex(reader.readCanonicalHash(number) ?? zeroHash) === bytesToHex(hash) &&
      reader.readCanonicalHash(number + 1) === undefined &&
      reader.readBody(hash) !== undefined &&
      reader.readReceipts(hash) !== undefined &&
      reader.readTrieRow(
        trieKey(
          accountTrie,
          hash.map((byte) => byte & 15),
        ),
      ) !== undefined &&
      reader.readAccount(address) !== undefined &&
      reader.readSlot(address, hash) !== undefined &&
      reader.readLocation(hash) !== undefined
    if (!whole) torn.push(`block ${number}`)
  }
  reader.refresh()
  t.equal(reader.readHead()?.number, blocks)
  t.strictSame(torn, [])
  t.ok(seen.size > 3, `${seen.size} different heads were seen`)
})

t.test('a map that becomes too small grows, under readers too', async (t) => {
  const path = join(t.testdir(), 'chain.mdb')
  const small = 256 * 1024
  const store = ChainWriter.openForWriting({ path, mapBytes: small })
  t.teardown(() => store.close())
  store.initialize(identity, makeBlockDiff(0, zeroHash))
  const source = `
    import { ChainReader } from ${JSON.stringify(new URL('../../../../src/data/store/chainReader.js', import.meta.url).href)}
    const store = ChainReader.open({ path: ${JSON.stringify(path)}, mapBytes: ${small} })
    console.log(store.readHead().number)
    process.stdin.on('data', () => {
      store.refresh()
      const { number, hash } = store.readHead()
      console.log(number + ' ' + store.readBody(hash).length)
    })
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  t.equal(String((await once(child.stdout, 'data'))[0]), '0\n')
  let parent = makeBlockDiff(0, zeroHash)
  for (let number = 1; number <= 100; number++) {
    parent = makeBlockDiff(number, parent.hash, 20_000)
    store.apply(number - 1, [parent])
  }
  child.stdin.write('?')
  t.equal(String((await once(child.stdout, 'data'))[0]), '100 20000\n')
  t.equal(store.readBody(parent.hash)?.length, 20_000)
})

/** Applies blocks until one does not fit. The store must then be as before that block. Returns the head. */
function fillUp(t: Test, store: ChainWriter, expected: { name: string; message: RegExp }) {
  for (let number = 1; ; number++) {
    const head = store.readHead()
    if (head === undefined) throw new Error('no head')
    const before = dumpStore(store)
    const blockDiff = makeBlockDiff(number, head.hash, 20_000)
    try {
      store.apply(number - 1, [blockDiff])
    } catch (error) {
      t.match(error, expected, `block ${number} does not fit`)
      t.strictSame(differences(dumpStore(store), before), [])
      t.strictSame(differences(before, dumpStore(store)), [])
      return head
    }
    if (number > 200) throw new Error('the store never was full')
  }
}

t.test('a full disk is named and keeps the store whole', { skip: withoutSmallDisk }, (t) =>
  onSmallDisk(t, 1024, async ({ folder, resize }) => {
    const path = join(folder, 'chain.mdb')
    const store = ChainWriter.openForWriting({ path, mapBytes })
    store.initialize(identity, makeBlockDiff(0, zeroHash))
    const reached = fillUp(t, store, { name: 'StoreError', message: /is full; free some space/ })
    resize(8192)
    const blockDiff = makeBlockDiff(reached.number + 1, reached.hash, 20_000)
    store.apply(reached.number, [blockDiff])
    await store.close()
    const again = ChainReader.open({ path, mapBytes })
    t.equal(again.readHead()?.number, reached.number + 1)
    t.strictSame(again.readBody(blockDiff.hash), Buffer.from(blockDiff.body))
    await again.close()
  }),
)

t.test('bytes that reads hand out stay what they were', async (t) => {
  const store = ChainWriter.openForWriting({ path: join(t.testdir(), 'chain.mdb'), mapBytes })
  t.teardown(() => store.close())
  const genesis = makeBlockDiff(0, zeroHash)
  store.initialize(identity, genesis)
  let parent = genesis
  const blocks = [genesis]
  for (let number = 1; number < 40; number++) {
    parent = makeBlockDiff(number, parent.hash, 40_000)
    blocks.push(parent)
    store.apply(number - 1, [parent])
  }
  const address = genesis.hash.slice(0, 20) as Parameters<typeof store.readAccount>[0]
  const kept = [
    ...blocks.flatMap(({ hash }) => [
      store.readBody(hash),
      store.readHeader(hash),
      store.readTrieRow(
        trieKey(
          accountTrie,
          hash.map((byte) => byte & 15),
        ),
      )?.leaf,
      store.readReceipts(hash),
      store.readBlock(hash)?.bytes,
    ]),
    store.readAccount(address),
    store.readAccountAt(address, 3),
    store.readHead()?.hash,
    ...[...store.accounts()].flat(),
    ...[...store.accountsAt(20)].flat(),
    ...[...store.slotsOf(address)].flat(),
    ...[...store.slotsOfAt(address, 20)].flat(),
  ]
  const copies = kept.map((bytes) => bytes && bytesToHex(bytes))
  // Fifty more blocks reuse the pages of the old ones.
  store.apply(0, [])
  parent = genesis
  for (let number = 1; number < 50; number++) {
    parent = { ...makeBlockDiff(number, parent.hash, 41_000) }
    store.apply(number - 1, [parent])
    await new Promise(setImmediate)
  }
  for (const { hash } of blocks) store.readBody(hash)
  t.strictSame(
    kept.map((bytes) => bytes && bytesToHex(bytes)),
    copies,
  )
  t.notOk(copies.includes(undefined))
})

t.test('a store that takes more address space than the process may have is refused', async (t) => {
  const path = join(t.testdir(), 'chain.mdb')
  await makeStore(path)
  const { href } = new URL('../../../../src/data/store/lmdb/environment.js', import.meta.url)
  const load = `import { openEnvironment } from ${JSON.stringify(href)}\n`
  const open = (gib: number) =>
    `openEnvironment(${JSON.stringify({ path, readOnly: true, mapBytes: gib * 2 ** 30 })})`
  const thread = `data:text/javascript,${encodeURIComponent(load + open(24))}`
  const source = `${load}
    import { Worker } from 'node:worker_threads'
    try { ${open(1024)} } catch (error) { console.log(error.name + ': ' + error.message) }
    ${open(24)}
    new Worker(new URL(${JSON.stringify(thread)})).on('exit', (status) => console.log('thread: ' + status))
  `
  const kib = 40 * 2 ** 20
  const command = `ulimit -v ${kib} && exec "$0" --input-type=module -e "$1"`
  const child = spawn('sh', ['-c', command, process.execPath, source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let out = ''
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  t.strictSame(await once(child, 'close'), [0, null])
  t.match(
    out,
    /^OperatorError: cannot open the store \S+: it takes 1024 GiB of address space, and this process has \d+ GiB left; set "store.mapBytes" in the configuration to less, such as \d+, or raise the limit/,
  )
  t.match(out, /thread: 0/, 'the threads of a process share it')
})
