// @scene an import
// @shares
import { existsSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import {
  chainOf,
  checkFailure,
  flagsOf,
  headOf,
  importHere,
  importInto,
  network,
} from '../../commands/importing.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { chainPath, genesisPath } from '../../rpc/demoChain.js'
import { runProgram, startProgram } from '../../service/program.js'
import { startService } from '../../service/service.js'

t.test(
  'an import says what it did in a sentence, and how far it is in lines of the log on standard error',
  async (t) => {
    const folder = makeFolder(t)
    const file = writeInto(folder, 'chain.rlp', chainOf(1, 12))
    const { status, out, err } = await importInto(folder, [file], runProgram)
    t.equal(status, 0)
    t.match(out, /^Done: tides is at block 12; blocks: 12 executed \([\d.]+ s, [\d.]+ Mgas\/s\)\.\n$/)
    const lines = err.trimEnd().split('\n')
    for (const line of lines) {
      const progress = JSON.parse(line)
      t.match(progress, { level: 30, time: Number, pid: Number, event: 'import', network, known: 0, side: 0 })
      for (const name of [
        'number',
        'executed',
        'gas',
        'bytesRead',
        'bytesTotal',
        'elapsedMs',
        'blocksPerSecond',
        'mgasPerSecond',
      ]) {
        t.type(progress[name], 'number', name)
      }
    }
    const last = JSON.parse(lines.at(-1) as string)
    const size = chainOf(1, 12).length
    t.match(last, { number: 12, executed: 12, bytesRead: size, bytesTotal: size })
    t.equal(await headOf(folder), 12)
  },
)

t.test('what is known already is skipped, and what follows is added', async (t) => {
  const folder = makeFolder(t)
  const first = writeInto(folder, 'first.rlp', chainOf(1, 8))
  const both = writeInto(folder, 'both.rlp', chainOf(1, 12))
  await importHere(folder, [first])
  t.match(await importInto(folder, [first, both]), {
    status: 0,
    out: /at block 12; blocks: 4 executed, 16 known already/,
  })
  const shorter = await importInto(folder, [first])
  t.match(shorter, { status: 0, out: /at block 12; blocks: 0 executed, 8 known already/ })
  t.equal(await headOf(folder), 12)
})

t.test('several files, plain and gzip, are taken in order', async (t) => {
  const folder = makeFolder(t)
  const files = [
    writeInto(folder, 'a.rlp', chainOf(1, 4)),
    writeInto(folder, 'b.rlp.gz', gzipSync(chainOf(5, 8))),
    writeInto(folder, 'c', chainOf(9, 10)),
  ]
  t.match(await importInto(folder, files), { status: 0, out: /at block 10; blocks: 10 executed/ })
})

t.test('one import at a time; an interrupted one goes on where it stopped', async (t) => {
  const folder = makeFolder(t)
  await importInto(folder, [writeInto(folder, 'some.rlp', chainOf(1, 10))])
  const reader = await startService([...flagsOf(folder), '--no-auth'])
  t.teardown(() => reader.stop())
  const numberNow = async () => Number((await reader.call('eth_blockNumber')).result)
  const words = ['import', ...flagsOf(folder), '--genesis', genesisPath, chainPath]
  const first = startProgram(words)
  const lock = `${folder}/networks/${network}/chain.mdb.writer`
  await waitFor('the first import to open its store', () => existsSync(lock))
  // The first process would finish before the others begin.
  first.process.kill('SIGSTOP')
  const second = await runProgram(words)
  checkFailure(
    t,
    second,
    new RegExp(
      `is being written by process ${first.process.pid}, which was started at \\S+; stop that process`,
    ),
  )
  first.process.kill('SIGINT')
  first.process.kill('SIGCONT')
  const { status, out } = await first.finished
  t.equal(status, 1)
  const sentence =
    /Stopped; run the command again to continue: tides is at block (\d+); blocks: (\d+) executed/.exec(out)
  const stoppedAt = Number(sentence?.[1])
  t.ok(stoppedAt >= 10)
  t.equal(stoppedAt, 10 + Number(sentence?.[2]))
  t.notOk(existsSync(lock), 'the lock is gone')
  await waitFor('the reader to see the last block', async () => (await numberNow()) === stoppedAt)
  const more = writeInto(folder, 'more.rlp', chainOf(1, stoppedAt + 2))
  t.match(await importInto(folder, [more]), {
    status: 0,
    out: new RegExp(`at block ${stoppedAt + 2}; blocks: 2 executed, ${stoppedAt} known already`),
  })
})

t.test('an import that was killed leaves a store that goes on', async (t) => {
  const folder = makeFolder(t)
  const words = ['import', ...flagsOf(folder), '--genesis', genesisPath, chainPath]
  const run = startProgram(words)
  const lock = `${folder}/networks/${network}/chain.mdb.writer`
  await waitFor('the import to open its store', () => existsSync(lock))
  await waitFor('some blocks', async () => ((await headOf(folder).catch(() => undefined)) ?? 0) > 5)
  run.process.kill('SIGKILL')
  await run.finished
  t.ok(existsSync(lock), 'its lock is left')
  const file = writeInto(folder, 'more.rlp', chainOf(1, 30))
  t.match(await importInto(folder, [file]), { status: 0, out: /known already/ })
  t.match(await runProgram(['verify', ...flagsOf(folder), '--blocks', '2']), { status: 0 })
})
