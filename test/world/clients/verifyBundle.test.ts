// @shares
import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createContext, runInContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { examples } from '../../rpc/demoChain.js'
import { startService } from '../../service/service.js'

const bytesMax = 60_000

const service = await startService()
t.teardown(() => service.stop())

/** `tidegate/verify` as a page would load it: a script with everything it needs. */
async function blockDiff(): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: "export * from 'tidegate/verify'", resolveDir: packageRoot() },
    bundle: true,
    write: false,
    minify: true,
    platform: 'browser',
    format: 'iife',
    globalName: 'tidegate',
  })
  return outputFiles[0]?.text as string
}

const script = await blockDiff()
const { head, accounts, slots, blocks } = examples
const full = blocks.find(({ transactions }) => transactions === 200)?.hash as string
const cases = await Promise.all(
  [
    { method: 'eth_getBalance', params: [accounts[0]?.address, 'latest'], blockHash: head.hash },
    { method: 'eth_getStorageAt', params: [slots[0]?.address, '0x0', head.hash], blockHash: head.hash },
    { method: 'eth_getTransactionReceipt', params: [full, '0x9'], blockHash: full },
  ].map(async (question) => {
    const { result } = await service.call('tidegate_getVerified', [question.method, question.params])
    return { question, answer: result }
  }),
)

/** Verifies every answer, and then a false one; gives their results and its error. */
const program = `JSON.stringify((() => {
  const cases = ${JSON.stringify(cases)}
  const results = cases.map(({ answer, question }) => tidegate.verify(answer, question))
  try {
    tidegate.verify({ ...cases[0].answer, result: '0x1' }, cases[0].question)
  } catch (error) {
    return { results, error: error.name }
  }
})())`

const expected = { results: cases.map(({ answer }) => answer.result), error: 'VerifyError' }

t.test('the bundle of tidegate/verify is small', async (t) => {
  const bytes = gzipSync(script).length
  t.ok(bytes <= bytesMax, `${bytes} bytes with gzip`)
})

t.test('it verifies where there is nothing but JavaScript', async (t) => {
  const realm = createContext({})
  for (const name of ['Buffer', 'process', 'require', 'TextEncoder', 'crypto', 'window']) {
    t.equal(runInContext(`typeof ${name}`, realm), 'undefined', name)
  }
  runInContext(script, realm)
  t.strictSame(JSON.parse(runInContext(program, realm)), expected)
})

const browsers = ['chromium', 'chromium-browser', 'google-chrome']
const browser = browsers.find((name) => spawnSync(name, ['--version']).status === 0)
const skip = browser === undefined && 'there is no Chromium here'

t.test('it verifies in Chromium', { skip }, async (t) => {
  const safe = (text: string) => text.replaceAll('</', '<\\/')
  const html = `<!doctype html><meta charset="utf-8"><pre></pre>
<script>${safe(script)}</script>
<script>document.querySelector('pre').textContent = encodeURIComponent(${safe(program)})</script>`
  const page = writeInto(makeFolder(t), 'page.html', html)
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--dump-dom', pathToFileURL(page).href]
  const { stdout } = spawnSync(browser as string, flags, { encoding: 'utf8' })
  const written = /<pre>([^<]*)<\/pre>/.exec(stdout)?.[1] ?? ''
  t.strictSame(JSON.parse(decodeURIComponent(written)), expected)
})

t.test('its types need nothing else', async (t) => {
  const compiler = join(packageRoot(), 'node_modules/typescript/bin/tsc')
  // Compiles with the options of the package.
  spawnSync(process.execPath, [compiler, '-p', 'src/verify'], { cwd: packageRoot() })
  const folder = makeFolder(t)
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(packageRoot(), join(folder, 'node_modules/tidegate'))
  writeInto(folder, 'package.json', { type: 'module' })
  const compile = (text: string) => {
    const file = writeInto(folder, 'page.ts', text)
    const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--lib', 'es2023', '--types', '']
    return spawnSync(process.execPath, [compiler, ...flags, file], { cwd: folder, encoding: 'utf8' })
  }
  const text = `import { type Question, VerifyError, verify } from 'tidegate/verify'
const question: Question = { method: 'eth_getBalance', params: ['0x'], blockHash: '0x' }
export const balance = () => BigInt(verify(null, question))
export const isRefusal = (error: unknown) => error instanceof VerifyError
`
  const right = compile(text)
  t.equal(right.status, 0, right.stdout)
  t.match(compile(text.replace('blockHash', 'block')).stdout, /'block' does not exist in type 'Question'/)
})
