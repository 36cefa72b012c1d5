import { gzipSync } from 'node:zlib'
import t from 'tap'
import { OperatorError } from '../../../../../src/primitives/faults.js'
import { DumpError, DumpParser, readStateDump } from '../../../../../src/sources/ingest/start/stateDump.js'
import { makeFolder, writeInto } from '../../../../library/folder.js'

const root = `0x${'ab'.repeat(32)}`
const address = `0x${'0a'.repeat(20)}`
const slot = (last: string) => `0x${last.padStart(64, '0')}`
const folder = makeFolder(t)

/** The calls of a parser, one text each. */
function sinkInto(said: string[]) {
  const hex = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString('hex')
  return {
    root: (reported: Uint8Array) => said.push(`root ${hex(reported)}`),
    slot: (key: Uint8Array, value: Uint8Array) =>
      said.push(`slot ${hex(key)?.replace(/^0+/, '')} ${hex(value)}`),
    account: ({
      line,
      address,
      nonce,
      balance,
      code,
      codeHash,
      storageRoot,
    }: Parameters<ConstructorParameters<typeof DumpParser>[0]['account']>[0]) =>
      said.push(
        `account ${line} ${hex(address)} ${nonce} ${balance} ${hex(code)} ${hex(codeHash)} ${hex(storageRoot)}`,
      ),
  }
}

/** Feeds a text in parts of `bytes`. Returns the calls, or the line and the fault. */
function parse(text: string, bytes = text.length): string[] {
  const said: string[] = []
  const parser = new DumpParser(sinkInto(said))
  const all = Buffer.from(text)
  try {
    for (let at = 0; at < all.length; at += bytes) parser.feed(all.subarray(at, at + bytes))
    parser.end()
  } catch (error) {
    if (!(error instanceof DumpError)) throw error
    said.push(`${parser.line}: ${error.message}`)
  }
  return said
}

const reth = [
  `{"root":"${root}"}`,
  `{"address":"${address}","balance":"0x10","nonce":7,"code":"0x6001","storage":{"${slot('1')}":"${slot('2a')}","${slot('2')}":"${slot('0')}"}}`,
  `{"balance": "0x0", "address": "${address}"}`,
].join('\n')
const geth = [
  `{"root":"${root}"}`,
  `{"balance":"16","nonce":7,"root":"${root}","codeHash":"${root}","code":"0x6001","storage":{"${slot('1')}":"2a"},"address":"${address}","key":"${root}"}`,
  `{"balance":"0","nonce":0,"root":"${root}","codeHash":"${root}","address":"${address}","other":[{"a":[1,"}"]}],"key":"${root}"}\n`,
].join('\n')
const bare = address.slice(2)
const hash = root.slice(2)
const wanted = [
  `root ${hash}`,
  'slot 1 2a',
  `account 2 ${bare} 7 16 6001 undefined undefined`,
  `account 3 ${bare} 0 0  undefined undefined`,
]

t.test('both formats are read, however the bytes are cut', (t) => {
  for (const bytes of [1, 2, 3, 7, 64, 10_000]) {
    t.strictSame(parse(reth, bytes), wanted, `reth, ${bytes}`)
    t.strictSame(
      parse(geth, bytes),
      wanted.map((text) => text.replaceAll('undefined', hash)),
      `geth, ${bytes}`,
    )
  }
  t.end()
})

t.test('a line that is not as it should be is named by its number, with what is wrong', (t) => {
  const after = (line: string) => `{"root":"${root}"}\n${line}\n`
  for (const [text, fault] of [
    ['', /^1: the file is empty/],
    [`{"address":"${address}","balance":"0x0"}`, /^1: the first line has to be \{"root"/],
    [`{"root":"0x12"`, /^1: the file ends within it/],
    [`{"root":"${root}","accounts":{}}`, /^1: all accounts are in one object.*--iterative/],
    [after('{"balance":"1","nonce":0,"key":"0x12"}'), /^2: it has no address.*preimages/],
    // A line of `geth snapshot dump`: slots by their hashes, values as RLP.
    [
      after(
        `{"balance":"1","nonce":1,"root":"0x${'5a'.repeat(32)}","codeHash":"0x${'c5'.repeat(32)}",` +
          `"storage":{"0x${'29'.repeat(32)}":"8401020304"},"key":"0x${'12'.repeat(32)}"}`,
      ),
      /^2: it has no address, as none of "geth snapshot dump" has; make it by "geth dump --iterative"/,
    ],
    [after(`{"address":"${address}","balance":"0x${'f'.repeat(65)}"}`), /^2: "balance": expected an integer/],
    [after(`{"address":"${address}","balance":"-1"}`), /^2: "balance": expected an integer, got -1/],
    [
      after(`{"address":"${address}","nonce":"0x1${'0'.repeat(16)}"}`),
      /^2: "nonce": expected at most 64 bits/,
    ],
    [after(`{"address":"0x12"}`), /^2: "address": expected hex of 20 bytes, got 0x12/],
    [after(`{"address":"${address}","code":"0x123"}`), /^2: "code": expected hex, got 0x123/],
    [after(`{"address":"${address}","address":"${address}"}`), /^2: "address" is given twice/],
    [after(`{"address":"${address}","storage":{},"storage":{}}`), /^2: "storage" is given twice/],
    [after(`{"address":"${address}","storage":{"0xzz":"0x1"}}`), /^2: the key of a slot: expected hex of 32/],
    [after(`{"address":"${address}","storage":{"0x1":7}}`), /^2: the value of a slot is no text/],
    [after(`{"address":"${address}"`), /^3: it is no JSON|^3: the file ends within it/],
    [after(`{"address":"${address}"}\n[]`), /^3: it is no JSON of one account: unexpected \[/],
    [after(`{"address" "${address}"}`), /^2: it is no JSON/],
  ] as const) {
    t.match(parse(text, 5).at(-1), fault, text.slice(0, 90))
  }
  t.end()
})

t.test('a packed file is read as a plain one, and one that is cut is refused', async (t) => {
  const read = async (name: string, content: Uint8Array | string) => {
    const said: string[] = []
    await readStateDump(writeInto(folder, name, content), sinkInto(said), async () => true)
    return said
  }
  t.strictSame(await read('plain', reth), wanted)
  const packed = gzipSync(reth)
  t.strictSame(await read('packed', packed), wanted)
  await t.rejects(read('cut', packed.subarray(0, packed.length - 9)), OperatorError)
  await t.rejects(read('none', ''), /none: line 1: the file is empty/)
  const { createZstdDecompress, zstdCompressSync } = (await import('node:zlib')) as {
    createZstdDecompress?: unknown
    zstdCompressSync?: (text: string) => Uint8Array
  }
  if (createZstdDecompress !== undefined && zstdCompressSync !== undefined)
    t.strictSame(await read('zstd', zstdCompressSync(reth)), wanted)
  else
    await t.rejects(
      read('zstd', Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0)),
      /packed by zstd, which Node.js reads from 22.15 on/,
    )
})
