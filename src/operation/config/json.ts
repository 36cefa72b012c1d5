/**
 * Reading a configuration file as JSON, and the line and column of its first syntax fault. JSON.parse gives no
 * position for most faults and silently keeps the last of two equal keys.
 */
import { readFileSync, statSync } from 'node:fs'
import { UsageError } from '../../primitives/faults.js'

/** The first fault of a text, at a line and column counted from 1. */
interface JsonFault {
  readonly line: number
  readonly column: number
  readonly why: string
}

/** Deepest nesting: deeper than any configuration, and shallow enough for the recursion below. */
const depthMax = 64

/**
 * The first syntax fault or repeated key of `text`; undefined if it is one JSON value. Takes time linear in its length.
 */
export function findJsonFault(text: string): JsonFault | undefined {
  try {
    const scanner = new Scanner(text)
    scanner.value(0)
    scanner.end()
    return undefined
  } catch (error) {
    if (!(error instanceof Stop)) throw error
    const before = text.slice(0, error.offset).split('\n')
    return { line: before.length, column: (before.at(-1) ?? '').length + 1, why: error.why }
  }
}

/** Far above any configuration; a larger file was given by mistake. */
const fileBytesMax = 2 ** 20

/** The JSON value of a file. Throws UsageError that names the position of its first fault. */
export function readJson(path: string): unknown {
  let content: string
  try {
    if (statSync(path).size > fileBytesMax) {
      throw new UsageError(`the configuration ${path} is larger than 1 MiB; check that it is the right file`)
    }
    content = readFileSync(path, 'utf8').replace(/^\uFEFF/, '')
  } catch (error) {
    if (error instanceof UsageError) throw error
    const why = (error as NodeJS.ErrnoException).code ?? 'unreadable'
    throw new UsageError(`cannot read the configuration ${path} (${why}); check --config`)
  }
  const fault = findJsonFault(content)
  if (fault) {
    throw new UsageError(
      `the configuration ${path} is not JSON: line ${fault.line}, column ${fault.column}: ${fault.why}`,
    )
  }
  return JSON.parse(content)
}

class Stop extends Error {
  constructor(
    readonly offset: number,
    readonly why: string,
  ) {
    super(why)
  }
}

const space = /[ \t\r\n]*/y
const literal = /true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these characters in a string.
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y

class Scanner {
  #offset = 0
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  value(depth: number): void {
    if (depth > depthMax) throw new Stop(this.#offset, `nested deeper than ${depthMax} levels`)
    this.#match(space)
    const next = this.#text[this.#offset]
    if (next === '{') this.#object(depth)
    else if (next === '[') this.#array(depth)
    else if (next === '"') this.#string('a value')
    else if (this.#match(literal) === undefined) throw this.#unexpected('a value')
  }

  end(): void {
    this.#match(space)
    if (this.#offset < this.#text.length) throw this.#unexpected('nothing more')
  }

  #object(depth: number): void {
    const keys = new Set<string>()
    this.#offset++
    if (this.#take('}')) return
    do {
      this.#match(space)
      const start = this.#offset
      const key = this.#string('a key in double quotes')
      if (keys.has(key)) throw new Stop(start, `key ${key} occurs twice in one object`)
      keys.add(key)
      if (!this.#take(':')) throw this.#unexpected('":"')
      this.value(depth + 1)
    } while (this.#take(','))
    if (!this.#take('}')) throw this.#unexpected('"," or "}"')
  }

  #array(depth: number): void {
    this.#offset++
    if (this.#take(']')) return
    do this.value(depth + 1)
    while (this.#take(','))
    if (!this.#take(']')) throw this.#unexpected('"," or "]"')
  }

  #string(expected: string): string {
    const found = this.#match(string)
    if (found !== undefined) return JSON.stringify(JSON.parse(found))
    if (this.#text[this.#offset] !== '"') throw this.#unexpected(expected)
    throw new Stop(
      this.#offset,
      'this string is not closed, or holds a raw control character or a bad escape',
    )
  }

  #take(character: string): boolean {
    this.#match(space)
    if (this.#text[this.#offset] !== character) return false
    this.#offset++
    return true
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#offset
    const found = pattern.exec(this.#text)?.[0]
    if (found !== undefined) this.#offset += found.length
    return found
  }

  #unexpected(expected: string): Stop {
    const next = this.#text[this.#offset]
    if (/^(?:\/[/*]|#)/.test(this.#text.slice(this.#offset, this.#offset + 2))) {
      return new Stop(this.#offset, 'JSON has no comments; remove this one')
    }
    const found = next === undefined ? 'the end of the file' : JSON.stringify(next)
    return new Stop(this.#offset, `expected ${expected}, got ${found}`)
  }
}
