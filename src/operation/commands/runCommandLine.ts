/** The command line: finds the typed command, and turns failures into one sentence and an exit status. */

import { OperatorError, UsageError } from '../../primitives/faults.js'
import { nearest } from '../../primitives/nearest.js'
import { redactText } from '../../serving/access/keyText.js'
import type { Io } from '../process/terminal.js'
import { type Command, defineCommand } from './commandLine.js'
import { commandList } from './commandList.js'
import { buildCommandHelp, buildGroupHelp, buildOverview } from './help.js'

const help = defineCommand({
  name: 'help',
  summary: 'explain the commands, or one of them',
  description: ['Explains the commands, or the one that is named.'],
  flags: {},
  positionals: { placeholder: 'COMMAND', summary: 'a command, such as serve or keys create', min: 0, max: 2 },
  examples: [['tidegate help keys create', 'the same as tidegate keys create --help']],
  run: async (_flags, words, io) => {
    io.out(await explain(words))
    return 0
  },
})

const versionCommand = defineCommand({
  name: 'version',
  summary: 'print the version of this program',
  description: ['Prints the version of this program, as --version and -v do.'],
  flags: {},
  examples: [['tidegate version', 'as in 0.1.0']],
  run: async (_flags, _words, io) => {
    io.out(await readVersion())
    return 0
  },
})

const commands: readonly Command[] = [...commandList, help, versionCommand]
const groups: ReadonlySet<string> = new Set(['keys'])

/** Runs one command line (without node and script) and returns its exit status: 0, 1, or 2 for wrong usage. */
export async function runCommandLine(words: readonly string[], io: Io): Promise<number> {
  try {
    return await dispatch(words.length === 0 ? ['help'] : words, io)
  } catch (error) {
    io.err(redactText(`tidegate: ${describe(error)}`))
    return error instanceof UsageError ? 2 : 1
  }
}

async function dispatch(words: readonly string[], io: Io): Promise<number> {
  const [first = ''] = words
  if (first === '--version' || first === '-v') return versionCommand.start([], io)
  // Words after "--" are arguments, even the word "--help".
  const end = words.indexOf('--')
  const flags = end === -1 ? words : words.slice(0, end)
  if (flags.includes('--help') || flags.includes('-h')) {
    io.out(await explain(wordsOfName(words)))
    return 0
  }
  if (first.startsWith('-')) {
    const near = nearest(first, ['--help', '--version'])
    const hint =
      near === undefined ? 'flags stand after the command, see: tidegate help' : `did you mean ${near}?`
    throw new UsageError(`unknown flag ${first} before a command; ${hint}`)
  }
  const command = findCommand(wordsOfName(words))
  return command.start(words.slice(command.name.split(' ').length), io)
}

/** The words that name a command: one, or two if the first names a group. */
function wordsOfName(words: readonly string[]): string[] {
  const name = words.slice(0, groups.has(words[0] ?? '') ? 2 : 1)
  return name.filter((word) => !word.startsWith('-'))
}

async function explain(words: readonly string[]): Promise<string> {
  const [first] = words
  if (first === undefined) return buildOverview(commands, await readVersion())
  if (groups.has(first) && words.length === 1) return buildGroupHelp(first, commandsOf(first))
  return buildCommandHelp(findCommand(words))
}

function findCommand(words: readonly string[]): Command {
  const name = words.join(' ')
  const found = commands.find((command) => command.name === name)
  if (found) return found
  const [first = '', second] = words
  if (!groups.has(first)) {
    const names = [
      ...commands.map((command) => command.name).filter((known) => !known.includes(' ')),
      ...groups,
    ]
    const near = nearest(first, names)
    const hint = near === undefined ? 'see: tidegate help' : `did you mean ${near}?`
    throw new UsageError(`unknown command ${JSON.stringify(name)}; ${hint}`)
  }
  const choices = commandsOf(first).map((command) => command.name.slice(first.length + 1))
  if (second === undefined) throw new UsageError(`name what to do with ${first}: ${choices.join(', ')}`)
  const near = nearest(second, choices)
  const hint = near === undefined ? `choose one of ${choices.join(', ')}` : `did you mean ${first} ${near}?`
  throw new UsageError(`unknown command ${JSON.stringify(name)}; ${hint}`)
}

function commandsOf(group: string): Command[] {
  return commands.filter((command) => command.name.startsWith(`${group} `))
}

// Loaded late, so that an error here is reported like any other failure.
async function readVersion(): Promise<string> {
  return (await import('../../primitives/version.js')).version
}

function describe(error: unknown): string {
  if (error instanceof OperatorError) return error.message
  if (process.env.TIDEGATE_DEBUG === '1' && error instanceof Error) {
    return `internal error: ${error.stack ?? error.message}`
  }
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
  return `internal error: ${line}; run again with TIDEGATE_DEBUG=1 to see where, and report it`
}
