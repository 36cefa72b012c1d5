/** The comments of all sources: their sentences are short enough to be understood at the first reading. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { commentSentencesOf, commentsOf, wordsMax, wordsOf } from '../library/sentences.js'

const folders = ['src', 'workers', 'build', 'bench', 'test', 'data']

function sourcesBelow(folder: string): string[] {
  return readdirSync(join(packageRoot(), folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.[cm]?[jt]s$/.test(path) && !path.includes('node_modules'))
    .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
    .sort()
}

t.test('comments are separated from code', async (t) => {
  const source = [
    '#!/usr/bin/env node // none',
    '/**',
    ' * The first.',
    ' */',
    "const url = 'https://none' // The second.",
    '  // The third,',
    '  // in two lines.',
    'const pattern = /[/*]\\/\\/none/g, half = 1 / 2 // The fourth.',
    `const text = \`// none \${\`\${{ a: "}" }}\` /* The fifth. */} // none\` // The sixth.`,
  ].join('\n')
  t.strictSame(commentsOf(source), [
    { line: 2, text: 'The first.' },
    { line: 5, text: 'The second.' },
    { line: 6, text: 'The third,\nin two lines.' },
    { line: 8, text: 'The fourth.' },
    { line: 9, text: 'The fifth.' },
    { line: 9, text: 'The sixth.' },
  ])
})

t.test('tables and examples of a comment are no sentences', async (t) => {
  const comment = 'One. Two (`a. b`).\n\n  key  value\n\n- Three\n  lines\n- four\n\n@example\nfive()'
  t.strictSame(commentSentencesOf(comment), ['One.', 'Two (code).', 'Three lines', 'four'])
})

t.test(`no sentence of a comment has more than ${wordsMax} words`, async (t) => {
  const long: string[] = []
  let sentences = 0
  for (const path of folders.flatMap(sourcesBelow)) {
    for (const { line, text } of commentsOf(readFileSync(join(packageRoot(), path), 'utf8'))) {
      for (const sentence of commentSentencesOf(text)) {
        sentences++
        if (wordsOf(sentence) > wordsMax) long.push(`${path}:${line}: ${sentence}`)
      }
    }
  }
  t.ok(sentences > 10_000, `${sentences} sentences`)
  t.strictSame(long, [])
})
