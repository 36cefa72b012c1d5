/**
 * Commands as values: a command's name, its flags, and the conversion of the words after its name into typed values.
 * Owns parsing and its error messages; `commandList.ts` lists the commands, `help.ts` lays out their help.
 */
import { parseArgs } from 'node:util'
import { UsageError } from '../../primitives/faults.js'
import { nearest } from '../../primitives/nearest.js'
import { redactUrl } from '../../primitives/urls.js'
import { dataDirDefault, historyBlocksMin } from '../config/config.js'
import type { Io } from '../process/terminal.js'

/** One flag, named after its key in {@link CommandSpec.flags}: `logLevel` is written `--log-level`. */
export interface Flag<V> {
  /** Name of the value in the help text; undefined for a switch. */
  readonly placeholder: string | undefined
  readonly summary: string
  /** The default as the help text shows it. */
  readonly shownDefault: string | undefined
  readonly isRequired: boolean
  /** Whether it may be given several times: its values are lists, which are joined. */
  readonly isList?: boolean
  /** The typed value; undefined if `text` is not valid. */
  readonly parse: (text: string) => V | undefined
  /** Description of accepted values, for the error message. */
  readonly expected: string
  /** The part of a wrong value that an error message may show; if absent, all of it. */
  readonly redact?: (text: string) => string
}

interface FlagNotes {
  readonly shownDefault?: string
  readonly isRequired?: boolean
}

/** A flag with any non-empty text. */
export function textFlag(placeholder: string, summary: string, notes: FlagNotes = {}): Flag<string> {
  return {
    placeholder,
    summary,
    shownDefault: notes.shownDefault,
    isRequired: notes.isRequired ?? false,
    parse: (text) => (text === '' ? undefined : text),
    expected: 'a value that is not empty',
  }
}

/** A flag with a text of this form. */
export function patternFlag(
  placeholder: string,
  summary: string,
  pattern: RegExp,
  expected: string,
): Flag<string> {
  return {
    ...textFlag(placeholder, summary),
    parse: (text) => (pattern.test(text) ? text : undefined),
    expected,
  }
}

/** A flag with a decimal integer from `min` to `max`; by default any non-negative safe integer. */
export function integerFlag(
  placeholder: string,
  summary: string,
  {
    min = 0,
    max = Number.MAX_SAFE_INTEGER,
    ...notes
  }: FlagNotes & { readonly min?: number; readonly max?: number } = {},
): Flag<number> {
  return {
    ...textFlag(placeholder, summary, notes),
    parse: (text) => {
      const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN
      return value >= min && value <= max ? value : undefined
    },
    expected: `an integer from ${min} to ${max}`,
  }
}

/** A flag with one of several words. */
export function choiceFlag<T extends string>(
  placeholder: string,
  summary: string,
  { choices, ...notes }: FlagNotes & { readonly choices: readonly T[] },
): Flag<T> {
  return {
    ...textFlag(placeholder, summary, notes),
    parse: (text) => choices.find((choice) => choice === text),
    expected: `one of ${choices.join(', ')}`,
  }
}

/** A flag that may be given several times; its values are a list. */
export function listFlag(
  placeholder: string,
  summary: string,
  {
    isValid,
    expected,
    redact,
    ...notes
  }: FlagNotes & Pick<Flag<string>, 'expected' | 'redact'> & { isValid(text: string): boolean },
): Flag<readonly string[]> {
  return {
    ...textFlag(placeholder, summary, notes),
    isList: true,
    parse: (text) => (isValid(text) ? [text] : undefined),
    expected,
    ...(redact && { redact }),
  }
}

/** A flag without a value. */
export function switchFlag(summary: string): Flag<true> {
  return {
    placeholder: undefined,
    summary,
    shownDefault: undefined,
    isRequired: false,
    parse: () => true,
    expected: 'no value',
  }
}

type Flags = Readonly<Record<string, Flag<unknown>>>

/** The given flags, under their names in {@link CommandSpec.flags}. */
type FlagValues<F extends Flags> = {
  readonly [K in keyof F]?: F[K] extends Flag<infer V> ? V | undefined : never
}

interface Positionals {
  /** Stands for the arguments in the help text. */
  readonly placeholder: string
  readonly summary: string
  readonly min: number
  readonly max: number
}

interface CommandSpec<F extends Flags> {
  /** The command as typed after `tidegate`, one or two words. */
  readonly name: string
  readonly summary: string
  /** Paragraphs of the help text. */
  readonly description: readonly string[]
  readonly flags: F
  readonly positionals?: Positionals
  /** Command lines, each with its purpose. */
  readonly examples: readonly (readonly [line: string, why: string])[]
  /** Does the work; resolves to the exit status. Flags with `isRequired` are always present. */
  readonly run: (flags: FlagValues<F>, positionals: readonly string[], io: Io) => Promise<number>
}

/** A command without its flag types, as in the list of commands. */
export interface Command extends Omit<CommandSpec<Flags>, 'run'> {
  /** Parses the words after the name and runs the command. Throws UsageError if they are not valid. */
  readonly start: (words: readonly string[], io: Io) => Promise<number>
}

export function defineCommand<F extends Flags>(spec: CommandSpec<F>): Command {
  const { run, ...rest } = spec
  const start = async (words: readonly string[], io: Io): Promise<number> => {
    const { values, positionals } = parseWords(spec, words)
    return run(values as FlagValues<F>, positionals, io)
  }
  return { ...rest, start }
}

/** `logLevel` → `--log-level`. */
export function flagToWord(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** The usage line of a command, the first line of its help text. */
export function usageOf(command: Pick<Command, 'name' | 'flags' | 'positionals'>): string {
  const required = Object.entries(command.flags)
    .filter(([, flag]) => flag.isRequired)
    .map(([name, flag]) => `${flagToWord(name)} ${flag.placeholder}`)
  const optional = Object.keys(command.flags).length > required.length ? ['[flags]'] : []
  const { placeholder, min, max } = command.positionals ?? { placeholder: '', min: 0, max: 0 }
  const words = max === 1 ? placeholder : `${placeholder}...`
  const arguments_ = max === 0 ? [] : [min === 0 ? `[${words}]` : words]
  return ['tidegate', command.name, ...required, ...optional, ...arguments_].join(' ')
}

interface Parsed {
  readonly values: Readonly<Record<string, unknown>>
  readonly positionals: readonly string[]
}

function parseWords(command: Omit<CommandSpec<Flags>, 'run'>, words: readonly string[]): Parsed {
  const flagOfWord = new Map(
    Object.entries(command.flags).map(([name, flag]) => [flagToWord(name), { name, flag }]),
  )
  // `strict` is off because the messages below suggest the flag that was probably meant; those of parseArgs do not.
  const { tokens } = parseArgs({
    args: [...words],
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: Object.fromEntries(
      [...flagOfWord].map(([word, { flag }]) => [
        word.slice(2),
        { type: flag.placeholder === undefined ? 'boolean' : 'string' },
      ]),
    ),
  })
  const values: Record<string, unknown> = {}
  const positionals: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const known = flagOfWord.get(token.rawName)
    if (!known) {
      const near = nearest(token.rawName, flagOfWord.keys())
      const hint = near === undefined ? `see: tidegate ${command.name} --help` : `did you mean ${near}?`
      throw new UsageError(`unknown flag ${token.rawName} for ${command.name}; ${hint}`)
    }
    const before = values[known.name]
    if (before !== undefined && !known.flag.isList) {
      throw new UsageError(`${token.rawName} is given twice; give it once`)
    }
    // A word that begins with a hyphen is the next flag, so the previous one lacks its value, unless "=" joins them.
    const isNextFlag = !token.inlineValue && token.value !== undefined && /^-./.test(token.value)
    const value = parseValue(token.rawName, known.flag, isNextFlag ? undefined : token.value)
    values[known.name] = Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value
  }
  for (const [word, { name, flag }] of flagOfWord) {
    if (flag.isRequired && !(name in values)) {
      throw new UsageError(
        `${command.name} needs ${word} ${flag.placeholder}; see: tidegate ${command.name} --help`,
      )
    }
  }
  assertCount(command, positionals.length)
  return { values, positionals }
}

function parseValue(word: string, flag: Flag<unknown>, text: string | undefined): unknown {
  if (flag.placeholder === undefined) {
    if (text === undefined) return true
    throw new UsageError(`${word} takes no value; write ${word} alone`)
  }
  if (text === undefined) throw new UsageError(`${word} needs a value; write ${word} ${flag.placeholder}`)
  const value = flag.parse(text)
  if (value !== undefined) return value
  throw new UsageError(
    `${word}: expected ${flag.expected}, got ${JSON.stringify(flag.redact?.(text) ?? text)}`,
  )
}

function assertCount(command: Omit<CommandSpec<Flags>, 'run'>, count: number): void {
  const { min, max, placeholder } = command.positionals ?? { min: 0, max: 0, placeholder: '' }
  if (count >= min && count <= max) return
  if (count < min) throw new UsageError(`${command.name} needs ${placeholder}; write ${usageOf(command)}`)
  const what = max === 0 ? 'no arguments' : `only ${max === 1 ? 'one argument' : `${max} arguments`}`
  throw new UsageError(`${command.name} takes ${what} besides its flags; write ${usageOf(command)}`)
}

/** Flags of all commands that use stores. */
export const common = {
  config: textFlag('FILE', 'configuration file (JSON); flags override it'),
  data: textFlag('DIR', 'folder of all stores', {
    shownDefault: `${dataDirDefault} under the current folder`,
  }),
}

/** Flag of commands that execute blocks. */
export const history = integerFlag('N', 'keep so many blocks of the past (state, tries, receipts, bodies)', {
  min: historyBlocksMin,
})

/** URLs of nodes, whose keys an error message does not show. */
export function urlsFlag(summary: string, isValid: (text: string) => boolean, expected: string) {
  return listFlag('URL', summary, { isValid, expected, redact: redactUrl })
}
