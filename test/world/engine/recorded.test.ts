// @alone it starts a server of twenty networks
/**
 * Replays the calls of a scripted consensus client to go-ethereum over the Engine API (`../shared/engine`), file by
 * file against a new network of one server. Skipped without the recordings.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { engineRecordings, withoutEngineRecordings } from '../../consensus/engineRecordings.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { inTime, waitFor } from '../../library/until.js'
import { writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'

/** go-ethereum ends the search for an estimate when it is 1.5 % too high; ours continues to the exact gas. */
const otherwise = [/ eth_estimateGas /]

const files = existsSync(engineRecordings)
  ? readdirSync(engineRecordings).filter((name) => name.endsWith('.jsonl'))
  : []

t.test('all recordings are replayed', { skip: withoutEngineRecordings }, async (t) => {
  t.ok(files.length >= 20, `${files.length} files`)
})

interface Recording {
  readonly path: string
  readonly network: string
  readonly genesis: string
  readonly exchanges: number
}

const recordings = files.map((file, at): Recording => {
  const path = join(engineRecordings, file)
  const [head = ''] = readFileSync(path, 'utf8').split('\n', 1)
  const { genesis, exchanges } = JSON.parse(head) as { genesis: string; exchanges: number }
  return { path, network: `engine${at}`, genesis: join(engineRecordings, genesis), exchanges }
})

t.test('each recording is answered as go-ethereum does', { skip: withoutEngineRecordings }, async (t) => {
  const folder = makeFolder(t)
  const jwt = writeInto(folder, 'jwt.hex', randomBytes(32).toString('hex'))
  const source = { type: 'consensus', port: 0, jwtSecret: jwt }
  const networks = recordings.map(({ network, genesis }) => ({ name: network, genesis, source }))
  const config = writeConfig(folder, { dataDir: 'data', networks })
  const service = await startService(['--config', config, '--no-auth'])
  t.teardown(() => service.stop())
  for (const { path, network, exchanges } of recordings) {
    const line = new RegExp(`"network":"${network}",.* may call (http:\\S+?)"`)
    const url = await waitFor('the listener of the consensus client', () => line.exec(service.said.err)?.[1])
    const out = await replay(['--url', url, '--jwt', jwt, path])
    const failed = out.split('\n').filter((line) => line.startsWith('FAIL '))
    const departures = failed.filter((line) => otherwise.some((pattern) => pattern.test(line)))
    t.same(failed, departures, out)
    t.match(out, `${exchanges - failed.length} passed, ${failed.length} failed`, path)
  }
})

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
