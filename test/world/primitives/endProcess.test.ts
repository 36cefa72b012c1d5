// @shares
/** The end of a process at once. It ends busy programs in turn, since the plain `process.exit` hangs only at times. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'

const runs = 5

/** The process has functions in the compilers, and a growing heap, when it ends; a timer would keep it alive. */
const program = `
  import { endProcess } from ${JSON.stringify(join(packageRoot(), 'dist/modules/src/primitives/endProcess.js'))}
  setInterval(() => {}, 1000)
  const functions = Array.from({ length: 300 }, (_, i) =>
    new Function('a', 'b', 'let s=' + i + ';for(let k=0;k<200;k++)s=(s*31+a.length+k*b)|0;return s'))
  let kept = []
  for (let i = 0; i < 20_000; i++) {
    kept.push(new Uint8Array(20_000))
    if (kept.length > 2_000) kept = kept.slice(1_000)
    functions[i % functions.length](kept[0], i)
  }
  process.stdout.write('said')
  endProcess(7)
`

t.test('a busy process ends with its status, and has said what it wrote', (t) => {
  for (let run = 0; run < runs; run++) {
    const ended = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
    t.strictSame([ended.status, ended.stdout, ended.stderr], [7, 'said', ''])
  }
  t.end()
})
