// @installs
/** The package that `npm pack` makes, installed into an empty folder. npm fetches its dependencies. */
import { execFile, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { inTime, once } from '../../library/until.js'

const run = promisify(execFile)
const skip = process.env.PACKAGE !== '1' && 'PACKAGE=1 packs, installs (60 MB) and runs the package'
const installedBytesMax = 200e6

function bytesBelow(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}

t.test('the package runs from an empty folder, and takes less than 200 MB', { skip }, async (t) => {
  const folder = makeFolder(t)
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: packageRoot(),
  })
  const [{ filename, version }] = JSON.parse(stdout)
  const page = readFileSync(join(packageRoot(), 'docs/install.md'), 'utf8')
  t.ok(page.includes(`\nnpm ci && npm pack\nnpx -y ./${filename} serve `))
  const ran = await run('npx', ['-y', `./${filename}`, '--version'], { cwd: folder })
  t.equal(ran.stdout.trim(), version, 'as docs/install.md says')
  writeInto(folder, 'package.json', { private: true })
  const flags = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts']
  await run('npm', ['install', ...flags, `./${filename}`], { cwd: folder })
  const modules = join(folder, 'node_modules')
  const bytes = bytesBelow(modules)
  t.comment(`${Math.round(bytes / 1e6)} MB`)
  t.ok(bytes < installedBytesMax, `${bytes} bytes`)
  t.ok(existsSync(join(modules, 'uWebSockets.js')))
  t.notOk(existsSync(join(modules, 'uwebsockets')), 'the older build is no part of it')
  const dashboard = join(modules, 'tidegate/dist/src/operation/admin/page')
  t.ok(existsSync(join(dashboard, 'uplot.LICENSE')))
  t.notOk(existsSync(join(modules, 'uplot')), 'the page holds it')
  t.equal((await run('npx', ['tidegate', '--version'], { cwd: folder })).stdout.trim(), version)

  // Started by node itself, so that a signal gets to it.
  const served = spawn(process.execPath, [join(modules, '.bin/tidegate'), 'serve', '--port', '0'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => served.kill('SIGKILL'))
  const lines = createInterface({ input: served.stdout })[Symbol.asyncIterator]()
  const address = async (): Promise<string> => {
    for (;;) {
      const { value, done } = await lines.next()
      if (done) throw new Error('the server ended')
      const found = /demo: chain id 8433.* (http:\S+)$/.exec(value)?.[1]
      if (found !== undefined) return found
    }
  }
  const answer = await fetch(await inTime('the demo network', address()), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}',
  })
  t.strictSame(await answer.json(), { jsonrpc: '2.0', id: 1, result: '0x20f1' })
  served.kill('SIGTERM')
  t.strictSame(await once(served, 'exit'), [0, null])
})
