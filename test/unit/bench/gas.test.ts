import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { parseOptions } from '../../../bench/options.js'
import { planOf } from '../../../bench/plan.js'
import {
  type GasFigures,
  gasTable,
  isOfPrecompile,
  medianShare,
  recordedTests,
  shortfalls,
} from '../../../bench/scenarios/gas.js'

const speed = (name: string, mgas: number, geth?: number) => ({
  name,
  gas: 2_000_000,
  micros: 2_000_000 / mgas,
  gethMicros: geth && 2_000_000 / geth,
})
const figures = (speeds: GasFigures['speeds'], problems: readonly string[] = []) => ({
  scale: 2,
  speeds,
  problems,
})

t.test('what is slow, wrong, or in the median far behind go-ethereum falls short', async (t) => {
  t.same(shortfalls(figures([speed('bn_add', 10.5, 20), speed('op_ADD', 11, 1_000)])), [])
  t.same(shortfalls(figures([speed('bn_add', 9.5, 20)])), ['bn_add: 9.50 Mgas/s, at least 10 wanted'])
  const far = [speed('bn_add', 20, 100), speed('sha256_1', 20, 100), speed('modexp_1', 20, 20)]
  t.equal(medianShare(far)?.toFixed(2), '0.20')
  t.match(shortfalls(figures(far)), [/^the median of the precompiled contracts is 0\.20 × go-ethereum/])
  t.same(shortfalls(figures([], ['x: another root'])), ['x: another root'])
})

t.test('the table has the slowest first, and says what falls short', async (t) => {
  const lines = gasTable(figures([speed('quick', 300, 100), speed('slow', 9, 18), speed('own', 20)]))
  t.match(lines.slice(1, 4), [
    /^slow +9\.00 +18\.0 +0\.50$/,
    /^own +20\.0 +– +–$/,
    /^quick +300 +100 +3\.00$/,
  ])
  t.equal(lines.at(-1), 'FAILED slow: 9.00 Mgas/s, at least 10 wanted')
})

t.test('recorded tests come with their gas and their times', async (t) => {
  const folder = t.testdir()
  const post = {
    hash: '0x1',
    logs: '0x2',
    gasUsed: '0x10',
    geth: 0.5,
    indexes: { data: 0, gas: 0, value: 0 },
  }
  const line = JSON.stringify({ name: 'bn_add', test: { post: { Osaka: [post] } } })
  writeFileSync(join(folder, 'micro.ndjson.gz'), gzipSync(`${line}\n`))
  t.match(recordedTests(folder)[0], { name: 'bn_add', fork: 'Osaka', gas: 16, gethMicros: 500_000 })
  t.ok(isOfPrecompile('bn_add') && !isOfPrecompile('op_ADD') && !isOfPrecompile('identity_1'))
})

t.test('the folder may be named, and without one the scenario is left out', async (t) => {
  const folder = t.testdir()
  const options = parseOptions(['--only', 'gas', folder])
  t.equal(options.gasFolder, folder)
  t.same(
    planOf(options, []).steps.map(({ name }) => name),
    ['gas'],
  )
  t.throws(() => planOf({ ...options, gasFolder: undefined }, []), /no scenario has "gas" in its name/)
  t.throws(() => parseOptions(['a', 'b']), /one folder is enough, got a b/)
})
