// @shares
/** The places of keys in the kernel's hash tables, by the function itself, compiled from its source. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'
import { instantiate, type WasmMemory } from '../../../../src/primitives/webAssembly.js'

interface Exports {
  readonly memory: WasmMemory
  setSeed(seed: bigint): void
  hashOfWord(word: number, scope: bigint): number
}

function compileTable(folder: string): Exports {
  const entry = join(folder, 'entry.ts')
  const module = join(folder, 'table.wasm')
  writeFileSync(
    entry,
    `export { hashOfWord, setSeed } from '${relative(folder, join(packageRoot(), 'src/execution/kernel/table'))}'`,
  )
  const compiler = join(packageRoot(), 'node_modules/assemblyscript/bin/asc.js')
  const flags = ['-O3', '--runtime', 'stub', '--noAssert', '--use', 'abort=', '--enable', 'simd']
  const words = [
    compiler,
    entry,
    '--outFile',
    module,
    ...flags,
    '--initialMemory',
    '560',
    '--memoryBase',
    '64',
  ]
  execFileSync(process.execPath, words, { cwd: folder })
  return instantiate<Exports>(module)
}

const keysMax = 2 ** 16
/** The size of a table with `keysMax` keys. */
const places = 2 * keysMax

/** Keys that differ in few bits, or by the same steps. */
function* families(): Generator<readonly [name: string, keyOf: (index: bigint) => bigint]> {
  for (let shift = 0n; shift <= 240n; shift += 8n) yield [`i << ${shift}`, (index) => index << shift]
  const step = (1n << 64n) / 65_537n
  for (let limb = 0n; limb < 256n; limb += 64n)
    yield [`i * ${step} << ${limb}`, (index) => ((index * step) % (1n << 64n)) << limb]
  const four = [0n, 64n, 128n, 192n]
  yield ['16 bits of each limb', (index) => four.reduce((sum, limb) => sum | (index << (limb + 48n)), 0n)]
  yield [
    '4 bits of each limb',
    (index) => four.reduce((sum, limb, at) => sum | (((index >> BigInt(4 * at)) & 15n) << (limb + 60n)), 0n),
  ]
}

t.test(
  'keys that somebody chose are spread over a table as random ones are, whatever the seed',
  async (t) => {
    const { memory, setSeed, hashOfWord } = compileTable(t.testdir())
    const word = 4_096
    const view = new DataView(memory.buffer, word, 32)
    /** Number of places that are read to find room for all keys, one after the other, like the table. */
    const looksFor = (keyOf: (index: bigint) => bigint): number => {
      const taken = new Uint8Array(places)
      let looks = 0
      for (let index = 0n; index < keysMax; index++) {
        const key = keyOf(index)
        for (let limb = 0; limb < 4; limb++)
          view.setBigUint64(8 * limb, BigInt.asUintN(64, key >> BigInt(64 * limb)), true)
        let place = hashOfWord(word, 0n) & (places - 1)
        for (looks++; taken[place] === 1; looks++) place = (place + 1) & (places - 1)
        taken[place] = 1
      }
      return looks
    }
    for (let round = 0; round < 3; round++) {
      const seed = randomBytes(8).readBigUInt64LE()
      setSeed(seed)
      const random = looksFor(() => BigInt(`0x${randomBytes(32).toString('hex')}`))
      for (const [name, keyOf] of families()) {
        const looks = looksFor(keyOf)
        t.ok(looks < 4 * random, `${name}: ${looks} looks, ${random} of random keys, seed ${seed}`)
      }
    }
  },
)
