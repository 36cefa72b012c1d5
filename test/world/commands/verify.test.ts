// @shares
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { chainOf, flagsOf, headOf, importHere, network } from '../../commands/importing.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { once, waitFor } from '../../library/until.js'
import { chainPath, examples, genesisPath, headBlock } from '../../rpc/demoChain.js'
import { fixtureDir } from '../../service/fixtures.js'
import { runHere, runProgram, startProgram, storePathOf } from '../../service/program.js'
import { startService } from '../../service/service.js'

/** A data folder with the first blocks of the demo chain, which takes less to check than the whole. */
async function makeShortChain(t: Test): Promise<string> {
  const folder = makeFolder(t)
  await importHere(folder, [writeInto(folder, 'chain.rlp', chainOf(1, shortHead))])
  return folder
}
const shortHead = 12

t.test('a sound store is told so, with what was checked', async (t) => {
  const words = ['verify', '--data', fixtureDir, '--network', 'demo', '--blocks', '3', '--seed', '7']
  const { status, out, err } = await runProgram(words)
  t.equal(status, 0)
  t.equal(err, '')
  t.match(out, /^Checked demo:\n/)
  t.match(out, new RegExp(`^ {2}${headBlock.number + 1} blocks: `, 'm'))
  t.match(out, new RegExp(`^ {2}${examples.totalTransactions} transactions: `, 'm'))
  const [, blocks = ''] =
    /state at blocks ([\d, ]+) and the latest tables: \d+ accounts, \d+ slots .* \(seed 7\)/.exec(out) ?? []
  const numbers = blocks.split(', ').map(Number)
  t.equal(numbers.length, 4)
  t.equal(numbers.at(-1), headBlock.number)
  t.match(out, /No fault found\.\n$/)
})

t.test('a seed repeats a run, and a run changes nothing', async (t) => {
  const folder = await makeShortChain(t)
  const words = ['verify', '--data', folder, '--blocks', '3', '--seed', '7']
  const before = readFileSync(storePathOf(folder, network))
  const { status, out } = await runHere(words)
  t.equal(status, 0)
  t.equal((await runHere(words)).out, out)
  t.ok(before.equals(readFileSync(storePathOf(folder, network))))
})

t.test('verify runs beside a server, which goes on answering', async (t) => {
  const folder = await makeShortChain(t)
  const service = await startService([...flagsOf(folder), '--no-auth'])
  t.teardown(() => service.stop())
  const run = startProgram(['verify', '--data', folder, '--blocks', '2'])
  let answers = 0
  let isOver = false
  void run.finished.then(() => {
    isOver = true
  })
  await waitFor('the end of the check', async () => {
    const { result } = await service.call('eth_blockNumber')
    if (Number(result) === shortHead) answers++
    return isOver
  })
  t.match(await run.finished, { status: 0, out: /No fault found/ })
  t.ok(answers > 0)
  t.equal(service.process.exitCode, null)
})

t.test('verify runs beside an import, which goes on', async (t) => {
  const folder = makeFolder(t)
  const run = startProgram(['import', ...flagsOf(folder), '--genesis', genesisPath, chainPath])
  t.teardown(() => run.process.kill('SIGKILL'))
  const exit = once(run.process, 'exit')
  await waitFor('some blocks', async () => ((await headOf(folder).catch(() => undefined)) ?? 0) > 1)
  // An import that is quick would be over before the verification is.
  run.process.kill('SIGSTOP')
  t.match(await runHere(['verify', '--data', folder, '--blocks', '1']), { status: 0, out: /No fault found/ })
  t.equal(run.process.exitCode, null, 'the import still runs')
  run.process.kill('SIGINT')
  run.process.kill('SIGCONT')
  t.strictSame(await exit, [1, null])
  t.match(await runHere(['verify', '--data', folder, '--blocks', '1']), { status: 0 })
})

t.test('a check that something ends says nothing of the store, unless it crashed', async (t) => {
  for (const [signal, said] of [
    [
      'SIGKILL',
      /was ended \(SIGKILL\), perhaps for lack of memory, so the store was not checked; run it again/,
    ],
    ['SIGTERM', /was ended \(SIGTERM\)/],
    ['SIGABRT', /broke off \(SIGABRT\): either Node.js had too little memory, or the store is damaged/],
    ['SIGSEGV', /is damaged so that it cannot be read \(SIGSEGV\); restore a copy/],
  ] as const) {
    // The state of all blocks, which takes longer than to find the child.
    const words = ['verify', '--data', fixtureDir, '--network', 'demo', '--blocks', String(headBlock.number)]
    const run = startProgram(words)
    const { pid } = run.process
    const child = await waitFor('the child', () => {
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      return children === '' ? undefined : Number(children)
    })
    process.kill(child, signal)
    const { status, err } = await run.finished
    t.equal(status, 1)
    t.match(err, said)
    t.match(err, /^tidegate: [^\n]+\n$/, 'one line')
  }
})

t.test('a network without a store is named', async (t) => {
  const folder = makeFolder(t)
  t.match(await runHere(['verify', '--data', folder, '--network', 'tides']), {
    status: 2,
    out: '',
    err: /^tidegate: there is no store of network tides under \S+; make one with: tidegate import/,
  })
})
