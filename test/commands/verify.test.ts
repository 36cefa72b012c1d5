import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { copyDemoStore, makeFolder, runProgram, startProgram, waitFor } from '../program.js'
import { chainPath, genesisPath, headBlock, sights } from '../rpc/demoChain.js'
import { fixtureDir, startService } from '../service.js'

const verifyDemo = (folder: string, ...flags: string[]) => runProgram(['verify', '--data', folder, ...flags])

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
