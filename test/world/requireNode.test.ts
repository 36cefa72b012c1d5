// @shares
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'

const check = join(packageRoot(), 'src', 'requireNode.cjs')

/** The output of the check under a Node.js that reports another version. */
function runAs(version: string) {
  const code = `Object.defineProperty(process.versions, 'node', { value: '${version}' }); require(process.argv[1])`
  return spawnSync(process.execPath, ['-e', code, check], { encoding: 'utf8' })
}

t.test('a Node.js older than package.json asks for is told so in a sentence', async (t) => {
  const { engines } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'))
  const [, oldest] = /^\^(\d+\.\d+)\.0 \|\|/.exec(engines.node) ?? []
  for (const version of ['0.12.18', '14.21.3', '18.20.8', '20.18.3']) {
    const { status, stdout, stderr } = runAs(version)
    t.equal(status, 1, version)
    t.equal(stdout, '')
    t.match(stderr, `Tidegate needs Node.js ${oldest} or newer, and this is ${version}`)
  }
  for (const version of [`${oldest}.0`, '22.12.0', '24.0.0', '26.10.0', '100.0.0']) {
    const { status, stderr } = runAs(version)
    t.equal(status, 0, version)
    t.equal(stderr, '')
  }
})

t.test('the check is written so that old versions can read it', async (t) => {
  const text = readFileSync(check, 'utf8')
  t.notMatch(text, /\b(?:import|const|let|class|async)\s|=>|`[^`]*\$\{|\?\?|\?\./)
})
