import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'

t.test('sources are compiled where they changed since they last were, and only then', async (t) => {
  const root = t.testdir({ 'package.json': '{}', 'package-lock.json': '{}', 'tsconfig.json': '{}' })
  for (const folder of ['src/serving/rpc', 'workers', 'bench', 'build', 'test', 'data/devnet']) {
    mkdirSync(join(root, folder), { recursive: true })
  }
  copyFileSync(join(packageRoot(), 'build/whenChanged.cjs'), join(root, 'build/whenChanged.cjs'))
  const source = join(root, 'src/serving/rpc/a.ts')
  writeFileSync(source, 'one')
  // Stands for the compiler: it says that it ran, and fails where there is a file `fault`.
  writeFileSync(
    join(root, 'compile.js'),
    "const fs = require('fs'); fs.writeFileSync('ran', ''); process.exit(fs.existsSync('fault') ? 3 : 0)",
  )
  const build = (target = 'all') => {
    const ran = join(root, 'ran')
    rmSync(ran, { force: true })
    const { status } = spawnSync(process.execPath, ['build/whenChanged.cjs', target, 'node compile.js'], {
      cwd: root,
    })
    return { status, ran: existsSync(ran) }
  }
  const compiled = { status: 0, ran: true }
  const nothing = { status: 0, ran: false }
  t.strictSame(build(), compiled, 'the first time')
  t.strictSame(build(), nothing)

  const { mtime } = statSync(source)
  writeFileSync(source, 'other')
  t.strictSame(build(), compiled, 'a changed file')
  utimesSync(source, mtime, new Date(0))
  t.strictSame(build(), compiled, 'a file that is older than before')
  t.strictSame(build('product'), nothing, 'what is packed is a part of all')
  t.strictSame(build('program'), nothing, 'and so is the program')
  writeFileSync(join(root, 'test/b.ts'), '')
  t.strictSame(build('product'), nothing, 'a test is no part of the program')
  t.strictSame(build(), compiled, 'a new file')
  rmSync(join(root, 'test/b.ts'))
  t.strictSame(build(), compiled, 'a deleted file')
  writeFileSync(join(root, 'package-lock.json'), '{ }')
  t.strictSame(build(), compiled, 'other packages')
  writeFileSync(source, 'third')
  t.strictSame(build('program'), compiled)
  t.strictSame(build('program'), nothing)
  t.strictSame(build('product'), compiled, 'it has more than what runs')
  t.strictSame(build('product'), nothing)
  t.strictSame(build(), compiled, 'all, after the program alone')
  writeFileSync(join(root, 'data/devnet/chain.rlp'), '')
  t.strictSame(build(), nothing, 'a file that is not compiled')

  writeFileSync(join(root, 'fault'), '')
  writeFileSync(source, 'wrong')
  t.strictSame(build(), { status: 3, ran: true })
  t.strictSame(build(), { status: 3, ran: true }, 'what did not compile is tried again')
  rmSync(join(root, 'fault'))
  t.strictSame(build(), compiled)
  rmSync(join(root, 'dist'), { recursive: true })
  t.strictSame(build(), compiled, 'without what was compiled')
})
