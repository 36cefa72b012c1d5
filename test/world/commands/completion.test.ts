// @shares
/** The scripts of `tidegate completion`, in the shells that are for them, as far as these are installed. */
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeFolder } from '../../library/folder.js'
import { runHere } from '../../service/program.js'

function without(shell: string): string | false {
  return spawnSync(shell, ['--version']).error !== undefined && `there is no ${shell}`
}

async function scriptOf(shell: string): Promise<string> {
  const { status, out } = await runHere(['completion', shell])
  if (status !== 0) throw new Error(`no script for ${shell}`)
  return out
}

/** What bash offers for the last of these words. */
function offeredByBash(script: string, words: readonly string[], cwd: string): string[] {
  const ask = `${script}
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_tidegate 2>&1
printf '%s\\n' "\${COMPREPLY[@]}"`
  const out = execFileSync('bash', ['--norc', '-c', ask, 'bash', 'tidegate', ...words], {
    cwd,
    encoding: 'utf8',
  })
  return out.split('\n').filter((line) => line !== '')
}

t.test('bash offers commands, flags and values', { skip: without('bash') }, async (t) => {
  const script = await scriptOf('bash')
  const cases: readonly (readonly [line: readonly string[], offered: readonly string[]])[] = [
    [['se'], ['serve']],
    [['ke'], ['keys']],
    [['keys', 'cr'], ['create']],
    [['keys', 'create', '--na'], ['--name']],
    [['serve', '--tr'], ['--transport']],
    [
      ['serve', '--transport', ''],
      ['auto', 'uws', 'node'],
    ],
    [['serve', '--port', ''], []],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish', '--help'],
    ],
    [
      ['slot', '--'],
      ['--types', '--each', '--help'],
    ],
    [['frobnicate', ''], []],
  ]
  for (const [words, offered] of cases) {
    t.strictSame(offeredByBash(script, words, '.'), offered, words.join(' '))
  }
  const every = offeredByBash(script, [''], '.')
  const { out } = await runHere(['help'])
  const commands = [...out.matchAll(/^ {2}([a-z]+)(?: [a-z]+)? {2,}/gm)].map(([, first]) => first)
  t.strictSame([...new Set(every)].sort(), [...new Set(commands)].sort(), 'all that help shows')
})

t.test('bash offers files where a path is expected', { skip: without('bash') }, async (t) => {
  const folder = makeFolder(t)
  writeFileSync(join(folder, 'script'), await scriptOf('bash'))
  // "compopt" works within a completion alone, so a function stands in for it that says what was asked.
  const script = 'compopt() { COMPREPLY=("$@"); }; source ./script'
  for (const words of [
    ['serve', '--config', ''],
    ['import', ''],
    ['backup', './'],
  ]) {
    t.strictSame(offeredByBash(script, words, folder), ['-o', 'default'], words.join(' '))
  }
  t.strictSame(offeredByBash(script, ['import', '--ge'], folder), ['--genesis'])
})

for (const shell of ['zsh', 'fish']) {
  t.test(`${shell} takes the script`, { skip: without(shell) }, async (t) => {
    const path = join(makeFolder(t), 'script')
    writeFileSync(path, await scriptOf(shell))
    t.equal(spawnSync(shell, ['-n', path]).status, 0)
  })
}

t.test('a shell that is not known is refused', async (t) => {
  t.match(await runHere(['completion', 'tcsh']), {
    status: 2,
    err: 'tidegate: completion: expected one of bash, zsh, fish, got "tcsh"\n',
  })
})
