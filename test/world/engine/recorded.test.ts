// @alone it starts a node for each of twenty files
/**
 * Replays the calls of a scripted consensus client to go-ethereum over the Engine API (`../shared/engine`), file by
 * file against a new node. Skipped without the recordings.
 */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { inTime } from '../../library/until.js'
import { engineRecordings, startEngine, withoutEngineRecordings } from '../../service/engineNode.js'

/** go-ethereum ends the search for an estimate when it is 1.5 % too high; ours continues to the exact gas. */
const otherwise = [/ eth_estimateGas /]

const files = existsSync(engineRecordings)
  ? readdirSync(engineRecordings).filter((name) => name.endsWith('.jsonl'))
  : []

t.test('all recordings are replayed', { skip: withoutEngineRecordings }, async (t) => {
  t.ok(files.length >= 20, `${files.length} files`)
})

for (const file of files) {
  t.test(`${file} is answered as go-ethereum does`, async (t) => {
    const path = join(engineRecordings, file)
    const [head = ''] = readFileSync(path, 'utf8').split('\n', 1)
    const { genesis, exchanges } = JSON.parse(head) as { genesis: string; exchanges: number }
    const { url, jwt } = await startEngine(t, { genesis: join(engineRecordings, genesis) })
    const out = await replay(['--url', url, '--jwt', jwt, path])
    const failed = out.split('\n').filter((line) => line.startsWith('FAIL '))
    const departures = failed.filter((line) => otherwise.some((pattern) => pattern.test(line)))
    t.same(failed, departures, out)
    t.match(out, `${exchanges - failed.length} passed, ${failed.length} failed`)
  })
}

function replay(words: readonly string[]): Promise<string> {
  const replayed = new Promise<string>((resolve) => {
    execFile(
      process.execPath,
      [join(engineRecordings, 'run.mjs'), ...words],
      { maxBuffer: 2 ** 24 },
      (_error, out, err) => resolve(out + err),
    )
  })
  return inTime('the replay to end', replayed)
}
