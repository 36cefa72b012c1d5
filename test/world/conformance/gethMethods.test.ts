// @shares
/**
 * Replays go-ethereum's answers about the demo chain for the newest methods. Each run replays another third of the answers
 * to each method, and all of them if `RUNS` asks for more.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { type Recording, recordingOf, replay } from '../../conformance/gethReplay.js'
import { makeFolder } from '../../library/folder.js'
import { someOf, thirdOf } from '../../library/property.js'
import { fixtureConfig } from '../../service/fixtures.js'
import { startService } from '../../service/service.js'
import { transports } from '../../transport/eachTransport.js'

const recording = recordingOf('methods.jsonl.gz')
const { skip } = recording

/**
 * go-ethereum's estimates stop within 1.5% of the least gas; here they are the least gas. So five of its drafts have
 * more gas.
 */
const drafts = 'eth_fillTransaction'
const otherDrafts = 5

/** The lines of a recording that are replayed, by method. */
function chosenLines({ path }: Recording): string[] {
  const byMethod = new Map<string, string[]>()
  for (const line of gunzipSync(readFileSync(path)).toString().trim().split('\n')) {
    const { method } = JSON.parse(line) as { readonly method: string }
    byMethod.set(method, [...(byMethod.get(method) ?? []), line])
  }
  return [...byMethod.values()].flatMap(thirdOf)
}

for (const transport of someOf(transports, 1)) {
  t.test(`recorded answers come out as from go-ethereum, ${transport.name}`, { skip }, async (t) => {
    const service = await startService([
      '--config',
      fixtureConfig,
      '--no-auth',
      '--transport',
      transport.name,
    ])
    t.teardown(() => service.stop())
    const lines = chosenLines(recording)
    const path = join(makeFolder(t), 'chosen.jsonl.gz')
    writeFileSync(path, gzipSync(lines.join('\n')))
    const said = await replay(`${service.origin}/`, { path, skip: false }, ['--verbose'])
    const failed = said.split('\n').filter((line) => line.startsWith('FAIL '))
    const others = failed.filter((line) => !line.startsWith(`FAIL ${drafts} `))
    t.same(others, [], said)
    t.ok(failed.length <= otherDrafts, said)
    t.match(said, `\n${lines.length - failed.length} passed, ${failed.length} failed`)
  })
}
