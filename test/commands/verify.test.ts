import { once } from 'node:events'
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import {
  copyDemoStore,
  makeFolder,
  type Outcome,
  runProgram,
  startProgram,
  storePathOf,
  waitFor,
} from '../program.js'
import { blockAt, chainPath, encode, genesisPath, headBlock, sights } from '../rpc/demoChain.js'
import { fixtureDir, startService } from '../service.js'

const original = storePathOf(fixtureDir, 'demo')
const verifyDemo = (folder: string, ...flags: string[]) => runProgram(['verify', '--data', folder, ...flags])

/** Sentences on standard error, status 1, and nothing that a crash leaves behind. */
function checkDamage(t: Test, { status, err }: Outcome, what: string): void {
  t.equal(status, 1, what)
  const lines = err.trimEnd().split('\n')
  for (const line of lines) t.match(line, /^tidegate: \S/, what)
  t.match(lines.at(-1), /damaged|is not a store|has schema|holds no chain|cannot open/, what)
  t.notMatch(err, /internal error|\bat [^ ]+ \(|node:internal|Segmentation|core dumped/, what)
}

t.test('a sound store is told so, with what was checked', async (t) => {
  const { status, out, err } = await verifyDemo(fixtureDir, '--blocks', '3', '--seed', '7')
  t.equal(status, 0)
  t.equal(err, '')
  t.match(out, /^Checked demo:\n/)
  t.match(out, new RegExp(`^ {2}${headBlock.number + 1} blocks: `, 'm'))
  t.match(out, new RegExp(`^ {2}${sights.totalTransactions} transactions: `, 'm'))
  const [, blocks = ''] =
    /state at blocks ([\d, ]+) and the latest tables: \d+ accounts, \d+ slots .* \(seed 7\)/.exec(out) ?? []
  const numbers = blocks.split(', ').map(Number)
  t.equal(numbers.length, 4)
  t.equal(numbers.at(-1), headBlock.number)
  t.match(out, /No fault found\.\n$/)
  t.equal((await verifyDemo(fixtureDir, '--blocks', '3', '--seed', '7')).out, out, 'a seed repeats a run')
})

t.test('verify runs beside a server, which goes on answering', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const run = startProgram(['verify', '--data', fixtureDir, '--blocks', '2'])
  let answers = 0
  let isOver = false
  void run.finished.then(() => {
    isOver = true
  })
  await waitFor('the end of the check', async () => {
    const { result } = await service.call('eth_blockNumber')
    if (Number(result) === headBlock.number) answers++
    return isOver
  })
  t.match(await run.finished, { status: 0, out: /No fault found/ })
  t.ok(answers > 0)
  t.equal(service.process.exitCode, null)
})

t.test('verify runs beside an import, which goes on', async (t) => {
  const folder = makeFolder(t)
  const run = startProgram([
    'import',
    '--network',
    'tides',
    '--data',
    folder,
    '--genesis',
    genesisPath,
    chainPath,
  ])
  t.teardown(() => run.process.kill('SIGKILL'))
  const exit = once(run.process, 'exit')
  const verified = await waitFor('a store to verify', async () => {
    const outcome = await verifyDemo(folder, '--blocks', '1')
    return outcome.status === 0 && outcome
  })
  t.match(verified.out, /No fault found/)
  t.equal(run.process.exitCode, null, 'the import still runs')
  run.process.kill('SIGINT')
  t.strictSame(await exit, [1, null])
  t.match(await verifyDemo(folder, '--blocks', '1'), { status: 0 })
})

t.test('one changed byte in what a block holds is found', async (t) => {
  const bytes = readFileSync(original)
  const folder = makeFolder(t)
  const path = copyDemoStore(folder, 'demo')
  const { header, transactions } = blockAt(251)
  // They stand in the store as they stand in the chain, and perhaps in pages that are free by now, too.
  for (const [what, piece] of [
    ['a header', encode(header).subarray(20, 80)],
    ['a transaction', transactions[0]?.bytes.subarray(40, 80) as Uint8Array],
    ['the extra data of a header', blockAt(40).header[12] as Uint8Array],
  ] as const) {
    const damaged = Buffer.from(bytes)
    let count = 0
    for (let at = bytes.indexOf(piece); at !== -1; at = bytes.indexOf(piece, at + 1)) {
      damaged[at + 12] = (damaged[at + 12] as number) ^ 0x10
      count++
    }
    t.ok(count > 0, what)
    writeFileSync(path, damaged)
    const outcome = await verifyDemo(folder, '--blocks', '0')
    checkDamage(t, outcome, what)
    t.match(outcome.out, /^Checked demo:[\s\S]*\d+ faults? found\.\n$/, what)
    t.match(outcome.err, /^tidegate: block \d+: /, what)
  }
})

t.test('a page of zeros or of noise anywhere never ends in a crash', async (t) => {
  const folder = makeFolder(t)
  const path = copyDemoStore(folder, 'demo')
  const bytes = readFileSync(original)
  const pages = Math.floor(bytes.length / 4096)
  // Both meta pages, then some of everything that lies between.
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
    const outcome = await verifyDemo(folder, '--blocks', '4', '--seed', '1')
    // A page that no table refers to any more may hold anything.
    if (outcome.status === 0) t.match(outcome.out, /No fault found/)
    else checkDamage(t, outcome, `page ${page}`)
  }
})

t.test('damage to what a page says of itself is found', async (t) => {
  const folder = makeFolder(t)
  const path = copyDemoStore(folder, 'demo')
  const bytes = readFileSync(original)
  // Behind a page's number stand its kind and the bounds of its free space.
  let found = 0
  for (let page = 5; page < bytes.length / 4096 && found < 4; page += 197) {
    const damaged = Buffer.from(bytes)
    damaged.fill(0xff, page * 4096 + 8, page * 4096 + 24)
    writeFileSync(path, damaged)
    const outcome = await verifyDemo(folder, '--blocks', '2', '--seed', '1')
    if (outcome.status !== 0) {
      checkDamage(t, outcome, `page ${page}`)
      found++
    }
  }
  t.ok(found > 0, `${found} of the damages mattered`)
})

t.test('a store that is cut off is found', async (t) => {
  const folder = makeFolder(t)
  const path = storePathOf(folder, 'demo')
  const { size } = statSync(original)
  for (const length of [0, 100, 4096, 8192, 20_000, Math.floor(size / 2)]) {
    copyDemoStore(folder, 'demo')
    truncateSync(path, length)
    checkDamage(t, await verifyDemo(folder, '--blocks', '1'), `${length} of ${size} bytes`)
  }
})

t.test('a damaged store is told at a server start, without a crash dump', async (t) => {
  const folder = makeFolder(t)
  const path = copyDemoStore(folder, 'demo')
  truncateSync(path, 100)
  const { status, err } = await runProgram([
    'serve',
    '--data',
    folder,
    '--network',
    'demo',
    '--no-auth',
    '--port',
    '0',
  ])
  t.equal(status, 1)
  t.match(err, /^tidegate: [^\n]+\n$/)
  t.notMatch(err, /internal error/)
})

t.test('verifying changes nothing', async (t) => {
  const folder = makeFolder(t)
  const path = copyDemoStore(folder, 'demo')
  const before = readFileSync(path)
  t.equal((await verifyDemo(folder, '--blocks', '1')).status, 0)
  t.ok(before.equals(readFileSync(path)))
})

t.test('a network without a store is named', async (t) => {
  const folder = makeFolder(t)
  t.match(await runProgram(['verify', '--data', folder, '--network', 'tides']), {
    status: 2,
    out: '',
    err: /^tidegate: there is no store of network tides under \S+; make one with: tidegate import/,
  })
})
