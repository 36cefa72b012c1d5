/**
 * Replays recorded exchanges of other clients against this one, where the recordings lie beside the package
 * (`../shared/conformance`: `run.mjs`, and `rpc-compat` with genesis, chain and one folder of recordings a method).
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/config.js'
import { methods } from '../../src/rpc/registry.js'
import { makeFolder, runProgram } from '../program.js'
import { startService } from '../service.js'

const conformance = join(packageRoot(), '../shared/conformance')
const recordings = join(conformance, 'rpc-compat')
const isThere = existsSync(join(conformance, 'run.mjs')) && existsSync(join(recordings, 'chain.rlp'))
const recorded = Object.keys(methods).filter((method) => existsSync(join(recordings, method)))

t.test(
  'every recorded exchange of our methods comes out the same',
  {
    skip: !isThere && `there are no recordings at ${conformance}`,
  },
  async (t) => {
    t.ok(recorded.length >= 8, `recordings of ${recorded.join(', ')}`)
    const dataDir = makeFolder(t)
    const flags = ['--network', 'compat', '--data', dataDir]
    const files = ['--genesis', join(recordings, 'genesis.json'), join(recordings, 'chain.rlp')]
    const imported = await runProgram(['import', ...flags, ...files])
    t.equal(imported.status, 0, imported.err)
    const service = await startService([...flags, '--no-auth'])
    t.teardown(() => service.stop())
    const { status, out } = await replay(`${service.origin}/`)
    t.equal(status, 0, out)
    t.match(out, /^[1-9]\d* passed, 0 failed$/m)
    for (const method of recorded) t.match(out, new RegExp(`^✓ ${method} `, 'm'))
  },
)

function replay(url: string): Promise<{ status: number | null; out: string }> {
  return new Promise((resolve) => {
    const words = [join(conformance, 'run.mjs'), '--url', url, '--only', recorded.join(',')]
    const child = execFile(process.execPath, words, (_error, out, err) =>
      resolve({ status: child.exitCode, out: out + err }),
    )
  })
}
