/**
 * `npm run measure`: counts how much a newcomer to the source has to read. The figures are the amount of code, the
 * files that a change touches, the functions that a request passes, and the files with one concept. `npm run check`
 * prints it; the figures of the last change are in docs/development.md.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

function filesBelow(...folders) {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:ts|js|cjs|mjs)$/.test(name))
      .sort()
      .map((name) => {
        const path = `${folder}/${name.replaceAll('\\', '/')}`
        return { path, text: readFileSync(join(root, path), 'utf8') }
      }),
  )
}

const comment = /\/\*[\s\S]*?\*\/|\/\/.*/y
const token =
  /(?:'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`|[\w$#]+|=>|\?\?=?|\?\.|\.\.\.|[<>=!&|*]{2,3}=?|[^\s])/y

/** Tokens of a text without its comments and imports. A template counts as one, with any content. */
function tokensOf(text) {
  const code = text.replace(/^(?:import|export)\b[^;]*?\bfrom '[^']*'$/gm, '')
  let count = 0
  for (let at = 0; at < code.length; ) {
    comment.lastIndex = at
    token.lastIndex = at
    if (comment.test(code)) at = comment.lastIndex
    else if (token.test(code)) {
      at = token.lastIndex
      count++
    } else at++
  }
  return count
}

const median = (counts) => counts.toSorted((a, b) => a - b)[counts.length >> 1] ?? 0
/** For names that appear in several files: the median number of files, and the name with the most. */
function spreadOf(names, files) {
  const counts = names.map((name) => {
    const word = new RegExp(`\\b${name}\\b`)
    return files.filter(({ text }) => word.test(text)).length
  })
  const most = Math.max(...counts)
  return `${median(counts)}, at most ${most} (${names[counts.indexOf(most)]})`
}

const source = filesBelow('src', 'workers')
const withTests = [...source, ...filesBelow('test', 'build')]
const textOf = (path) => readFileSync(join(root, path), 'utf8')
const countFiles = (pattern) => source.filter(({ text }) => pattern.test(text)).length

const limits = [...textOf('src/operation/config/limits.ts').matchAll(/^ {2}(\w+): /gm)].map(
  ([, name]) => name,
)
const methods = source
  .filter(({ path }) => path.startsWith('src/serving/rpc/methods/'))
  .flatMap(({ text }) => [
    ...text.matchAll(/^ {2}(?:async )?((?:eth|debug|trace|ots|tidegate|txpool)_\w+)[(:]/gm),
  ])
  .map(([, name]) => name)
const figures = [...textOf('docs/metrics.md').matchAll(/`(tidegate_\w+)`/g)].map(([, name]) => name)

/** Functions and files of each walk in docs/walks.md. */
const walks = textOf('docs/walks.md')
  .split(/\n\n(?=[A-Z])/)
  .filter((part) => /\n1\. /.test(part))
  .map((part) => {
    const names = [...part.slice(part.indexOf('\n1. ')).matchAll(/`([^`]+)`/g)].map(([, name]) => name)
    const files = new Set(names.filter((name) => name.endsWith('.ts')))
    const functions = names.filter((name) => !name.endsWith('.ts')).length
    return [part.split(/ \(`|, over|, after/)[0].trim(), `${functions} functions (${files.size} files)`]
  })

const rows = [
  ['tokens without comments and imports', source.reduce((sum, { text }) => sum + tokensOf(text), 0)],
  ['files', source.length],
  ['files below 40 lines', source.filter(({ text }) => text.split('\n').length <= 40).length],
  ['spreads of literals', source.reduce((sum, { text }) => sum + text.split('...{').length - 1, 0)],
  ['files that name a limit (median)', spreadOf(limits, source)],
  ['files that name a method, with tests', spreadOf(methods, withTests)],
  ['files that name a figure', spreadOf(figures, source)],
  ...walks,
  ['files that say "family"', countFiles(/family/i)],
  ['files that say "told"', countFiles(/\btold\b/i)],
  ['files that know what is not stored', countFiles(/\bNotStoredError\b/)],
  ['files with SharedArrayBuffer or Atomics', countFiles(/\b(?:SharedArrayBuffer|Atomics)\b/)],
]
const width = Math.max(...rows.map(([name]) => name.length))
for (const [name, value] of rows) console.log(`${name.padEnd(width)}  ${value.toLocaleString('en')}`)
