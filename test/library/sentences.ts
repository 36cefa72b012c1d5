/** The sentences of a page or a comment, and the comments of a source. Owns what counts as a sentence and a word. */

/** Words of a sentence: more are hard to read for those whose third language is English. */
export const wordsMax = 25

/** Sentences of the text of a page: of no table, heading or code. A piece of code is a word. */
export function sentencesOf(page: string): string[] {
  const text = page
    .replace(/^```[\s\S]*?^```$/gm, '')
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/^(?:\s*\||#|\s*<|!\[| {4}).*$/gm, '')
    .replace(/`[^`]*`/g, 'code')
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/[[\]*]/g, '')
  const blocks = text.split(/\n\s*\n|\n(?=\s*(?:- |\d+\. ))/)
  const sentences = blocks.flatMap((block) =>
    block
      .replace(/^\s*(?:- |\d+\. )/, '')
      .replace(/\s+/g, ' ')
      .trim()
      .split(/(?<=[.!?][)"']?) (?=\S)/),
  )
  return sentences.filter((sentence) => sentence !== '')
}

export function wordsOf(sentence: string): number {
  return sentence.split(' ').filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}

/** Sentences of a comment. An example is code; a paragraph whose lines are all indented is a table. */
export function commentSentencesOf(comment: string): string[] {
  const paragraphs = comment.replace(/^@example[\s\S]*/m, '').split(/\n[ \t]*\n/)
  const prose = paragraphs.filter((each) => !each.split('\n').every((line) => line.startsWith('  ')))
  return sentencesOf(prose.join('\n\n'))
}

export interface Comment {
  /** Line of the source on which it begins, from 1 on. */
  readonly line: number
  /** Without slashes and stars. Lines of `//` directly below each other are one comment. */
  readonly text: string
}

const blank = /^#!.*\n\s*|\s*/y
const blockComment = /\/\*[\s\S]*?\*\//y
const lineComments = /\/\/.*(?:\n[ \t]*\/\/.*)*/y
const lineComment = /\/\/.*/y
const quoted = /'(?:\\[\s\S]|[^'\\\n])*'|"(?:\\[\s\S]|[^"\\\n])*"/y
const template = /(?:\\[\s\S]|\$(?!\{)|[^\\`$])*(?:`|\$\{)/y
const expression = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/\w*/y
const word = /[\w$]+/y
/** After one of these, a slash begins a regular expression; after all others it divides. */
const beforeExpression =
  /^(?:[=(,:[!&|?{};+\-*%<>~^]|return|typeof|case|in|of|void|throw|new|else|do|await|yield)$/

/** All comments of a source in TypeScript, JavaScript or AssemblyScript, in order. */
export function commentsOf(source: string): Comment[] {
  const comments: Comment[] = []
  /** For each `${` that is open, the depth of braces outside of it. */
  const templates: number[] = []
  let depth = 0
  let last = ';'
  let at = 0
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at
    const found = pattern.exec(source)?.[0] ?? ''
    at += found.length
    return found
  }
  const takeTemplate = (): void => {
    last = '`'
    if (!take(template).endsWith('${')) return
    templates.push(depth++)
    last = '{'
  }
  while (at < source.length) {
    const before = take(blank)
    const start = at
    const isOwnLine = start === 0 || before.includes('\n')
    const comment = take(blockComment) || take(isOwnLine ? lineComments : lineComment)
    if (comment !== '') {
      const text = comment.startsWith('//')
        ? comment.replace(/^[ \t]*\/\/ ?/gm, '')
        : comment.slice(2, -2).replace(/^[ \t]*\*(?!\/) ?/gm, '')
      comments.push({ line: source.slice(0, start).split('\n').length, text: text.trim() })
    } else if (take(quoted) !== '') last = "'"
    else if (source[at] === '/' && beforeExpression.test(last) && take(expression) !== '') last = '/'
    else if (at < source.length) {
      const sign = take(word) || (source[at++] as string)
      last = sign
      if (sign === '{') depth++
      else if (sign === '}' && templates.at(-1) === --depth) {
        templates.pop()
        takeTemplate()
      } else if (sign === '`') takeTemplate()
    }
  }
  return comments
}
