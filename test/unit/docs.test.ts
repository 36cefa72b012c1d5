/** The pages for people: their links lead somewhere, and every one of them can be found. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { sentencesOf, wordsMax, wordsOf } from '../library/sentences.js'

/** Files; pictures are in a folder of their own. */
const docs = readdirSync(join(packageRoot(), 'docs'), { withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ name }) => `docs/${name}`)
const pages = ['README.md', 'bench/README.md', 'data/devnet/README.md', ...docs.filter(isPage)]

function isPage(path: string): boolean {
  return path.endsWith('.md')
}

function read(page: string): string {
  return readFileSync(join(packageRoot(), page), 'utf8')
}

/** A page without quotations: blocks of code and words in backticks. */
function readProse(page: string): string {
  return read(page)
    .replace(/^```[\s\S]*?^```$/gm, '')
    .replace(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()]/g, ''))
}

/** Targets of a page's links within the repository: a path, and an anchor on it or ''. */
function linksOf(page: string): { readonly path: string; readonly anchor: string }[] {
  return [...readProse(page).matchAll(/\]\(([^)\n]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = '', anchor = ''] = target.split('#')
      return { path: path === '' ? page : normalize(join(dirname(page), path)), anchor }
    })
}

/** Anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  return [...readProse(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

t.test('links between pages lead to files and headings that exist', async (t) => {
  for (const page of pages) {
    for (const { path, anchor } of linksOf(page)) {
      t.ok(existsSync(join(packageRoot(), path)), `${page}: ${path}`)
      if (anchor !== '') t.ok(anchorsOf(path).includes(anchor), `${page}: ${path}#${anchor}`)
    }
  }
})

t.test('every file of docs stands in its index', async (t) => {
  const linked = new Set(linksOf('docs/README.md').map(({ path }) => path))
  t.strictSame(
    docs.filter((path) => path !== 'docs/README.md' && !linked.has(path)),
    [],
  )
})

t.test('every picture is shown on a page, and there', async (t) => {
  const shown = docs
    .filter(isPage)
    .flatMap((page) => [...read(page).matchAll(/(?:src|srcset)="(images\/[^"]+)"/g)].map(([, path]) => path))
  const pictures = readdirSync(join(packageRoot(), 'docs/images')).map((name) => `images/${name}`)
  t.strictSame([...new Set(shown)].sort(), pictures.sort())
})

t.test('the first page is read in half a minute, any other in one go', async (t) => {
  const lines = (page: string) => read(page).split('\n').length - 1
  t.ok(lines('README.md') <= 150, `README.md: ${lines('README.md')} lines`)
  for (const page of pages) t.ok(lines(page) <= 400, `${page}: ${lines(page)} lines`)
})

/** This page describes its figures in longer sentences. */
const measurements = 'bench/README.md'

t.test('sentences are short, and the first lines of a page say for whom it is', async (t) => {
  t.equal(wordsOf('The code of 12 blocks – a figure.'), 7)
  const sentences = pages
    .filter((page) => page !== measurements)
    .map(read)
    .flatMap(sentencesOf)
  const long = sentences.filter((sentence) => wordsOf(sentence) > wordsMax)
  t.ok(sentences.length > 1_500, `${sentences.length} sentences`)
  t.strictSame(long, [])
  for (const page of pages.filter((each) => each.startsWith('docs/'))) {
    t.match(read(page).split('\n').slice(0, 4).join('\n'), /\bFor [a-z]/, page)
  }
})
