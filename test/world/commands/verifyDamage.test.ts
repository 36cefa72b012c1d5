// @shares
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { chainOf, importHere } from '../../commands/importing.js'
import { makeFolder } from '../../library/folder.js'
import { blockAt, encode } from '../../rpc/demoChain.js'
import { type Outcome, runHere, runProgram, storePathOf } from '../../service/program.js'

/** A store of some blocks, of which every test damages a copy. */
const sound = mkdtempSync(join(tmpdir(), 'tidegate-test-'))
process.on('exit', () => rmSync(sound, { recursive: true, force: true }))
writeFileSync(join(sound, 'chain.rlp'), chainOf(1, 24))
await importHere(sound, [join(sound, 'chain.rlp')])
const original = storePathOf(sound, 'tides')

/** Puts the sound store into a data folder and returns its path. */
function copyStore(dataDir: string): string {
  const path = storePathOf(dataDir, 'tides')
  mkdirSync(dirname(path), { recursive: true })
  copyFileSync(original, path)
  return path
}

/** Runs `verify` in this process; a child process of the command still reads the store. */
function verifyIn(folder: string, ...flags: string[]): Promise<Outcome> {
  return runHere(['verify', '--data', folder, ...flags])
}

/** Expects sentences on standard error, status 1, and no remains of a crash. */
function checkDamage(t: Test, { status, err }: Outcome, what: string): void {
  t.equal(status, 1, what)
  const lines = err.trimEnd().split('\n')
  for (const line of lines) t.match(line, /^tidegate: \S/, what)
  t.match(lines.at(-1), /damaged|is not a store|has schema|holds no chain|cannot open/, what)
  t.notMatch(err, /internal error|\bat [^ ]+ \(|node:internal|Segmentation|core dumped/, what)
}

t.test('the store that is damaged below is sound', async (t) => {
  t.match(await verifyIn(sound), { status: 0, err: '', out: /No fault found/ })
})

t.test('one changed byte in what a block holds is found', async (t) => {
  const bytes = readFileSync(original)
  const folder = makeFolder(t)
  const path = copyStore(folder)
  const damaged = Buffer.from(bytes)
  // These bytes are in the store as in the chain, and perhaps also in free pages.
  for (const [what, piece] of [
    ['a transaction', blockAt(8).transactions[0]?.bytes.subarray(30, 70) as Uint8Array],
    ['the receipts root of a header', blockAt(16).header[5] as Uint8Array],
    ['a header', encode(blockAt(20).header).subarray(20, 80)],
  ] as const) {
    let count = 0
    for (let at = bytes.indexOf(piece); at !== -1; at = bytes.indexOf(piece, at + 1)) {
      damaged[at + 12] = (damaged[at + 12] as number) ^ 0x10
      count++
    }
    t.ok(count > 0, what)
  }
  writeFileSync(path, damaged)
  const outcome = await runProgram(['verify', '--data', folder, '--blocks', '0'])
  checkDamage(t, outcome, 'changed bytes')
  t.match(outcome.out, /^Checked tides:[\s\S]*\d+ faults? found\.\n$/)
  for (const number of [8, 16, 20]) t.match(outcome.err, new RegExp(`^tidegate: block ${number}: `, 'm'))
})

t.test('a page of zeros or of noise anywhere never ends in a crash', async (t) => {
  const folder = makeFolder(t)
  const path = copyStore(folder)
  const bytes = readFileSync(original)
  const pages = Math.floor(bytes.length / 4096)
  // Both meta pages, then a sample of all pages in between.
  const damages: [page: number, fill: number | undefined][] = [
    [0, 0],
    [0, undefined],
    [1, undefined],
    [Math.floor(pages / 2), undefined],
    [pages - 2, undefined],
  ]
  for (const [page, fill] of damages) {
    const damaged = Buffer.from(bytes)
    const start = page * 4096
    for (let at = start; at < start + 4096; at++) damaged[at] = fill ?? (at * 131 + page * 17) & 255
    writeFileSync(path, damaged)
    const outcome = await verifyIn(folder, '--blocks', '4', '--seed', '1')
    // A page without a reference from a table may have any content.
    if (outcome.status === 0) t.match(outcome.out, /No fault found/)
    else checkDamage(t, outcome, `page ${page}`)
  }
})

t.test('damage to what a page says of itself is found', async (t) => {
  const folder = makeFolder(t)
  const path = copyStore(folder)
  const bytes = readFileSync(original)
  // After a page's number come its kind and the bounds of its free space.
  const step = Math.ceil(bytes.length / 4096 / 8)
  let found = 0
  for (let page = 5; page < bytes.length / 4096 && found < 2; page += step) {
    const damaged = Buffer.from(bytes)
    damaged.fill(0xff, page * 4096 + 8, page * 4096 + 24)
    writeFileSync(path, damaged)
    const outcome = await verifyIn(folder, '--blocks', '2', '--seed', '1')
    if (outcome.status !== 0) {
      checkDamage(t, outcome, `page ${page}`)
      found++
    }
  }
  t.ok(found > 0, `${found} of the damages mattered`)
})

t.test('a store that is cut off is found', async (t) => {
  const folder = makeFolder(t)
  const path = storePathOf(folder, 'tides')
  const { size } = statSync(original)
  for (const length of [0, 100, 8192, Math.floor(size / 2)]) {
    copyStore(folder)
    truncateSync(path, length)
    checkDamage(t, await verifyIn(folder, '--blocks', '1'), `${length} of ${size} bytes`)
  }
})

t.test('a damaged store is told at a server start, without a crash dump', async (t) => {
  const folder = makeFolder(t)
  const path = copyStore(folder)
  truncateSync(path, 100)
  const flags = ['--data', folder, '--network', 'tides', '--no-auth', '--port', '0']
  const { status, err } = await runProgram(['serve', ...flags])
  t.equal(status, 1)
  t.match(err, /^tidegate: [^\n]+\n$/)
  t.notMatch(err, /internal error/)
})
