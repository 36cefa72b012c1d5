/** Help texts, made from the declarations of the commands, so that both always agree. */

import { largest } from '../../primitives/extremes.js'
import { type Command, flagToWord, usageOf } from './commandLine.js'

/** Width of help texts, in characters. */
const columns = 90

export function buildOverview(commands: readonly Command[], version: string): string {
  const rows = commands.map(({ name, summary }) => [name, summary] as const)
  return [
    `Tidegate ${version}: a JSON-RPC node for EVM chains.`,
    '',
    'Usage: tidegate COMMAND [flags]',
    '',
    'Commands:',
    ...layOut(rows),
    '',
    'Flags:',
    ...layOut([
      ['--help, -h', 'after a command: its purpose, its flags and examples'],
      ['--version, -v', 'the version of this program'],
    ]),
    '',
    'To begin, run "tidegate serve": it serves a small demo network and prints requests to try.',
    'Exit status: 0 done, 1 failed, 2 wrong usage or configuration. With TIDEGATE_DEBUG=1 in the',
    'environment, an internal error also prints where it came from.',
  ].join('\n')
}

/** The text of a group such as `keys`. */
export function buildGroupHelp(group: string, commands: readonly Command[]): string {
  return [
    `Usage: tidegate ${group} COMMAND [flags]`,
    '',
    'Commands:',
    ...layOut(commands.map(({ name, summary }) => [name, summary])),
    '',
    `Each explains itself with --help, as in: tidegate ${commands[0]?.name ?? group} --help`,
  ].join('\n')
}

export function buildCommandHelp(command: Command): string {
  const { positionals } = command
  const flags = Object.entries(command.flags).map(([name, flag]) => {
    const value = flag.placeholder === undefined ? '' : ` ${flag.placeholder}`
    const note = flag.isRequired ? ' (required)' : flag.shownDefault ? ` (default ${flag.shownDefault})` : ''
    return [`${flagToWord(name)}${value}`, `${flag.summary}${note}`] as const
  })
  return [
    `Usage: ${usageOf(command)}`,
    ...command.description.flatMap((paragraph) => ['', ...wrap(paragraph, columns)]),
    ...(positionals ? ['', 'Arguments:', ...layOut([[positionals.placeholder, positionals.summary]])] : []),
    ...(flags.length > 0 ? ['', 'Flags:', ...layOut(flags)] : []),
    '',
    'Examples:',
    ...command.examples.flatMap(([line, why]) => [`  ${line}`, `      ${why}`]),
  ].join('\n')
}

/** Two columns; long lines of the second are wrapped within that column. */
function layOut(rows: readonly (readonly [left: string, right: string])[]): string[] {
  const width = largest(rows.map(([left]) => left.length))
  return rows.flatMap(([left, right]) =>
    wrap(right, columns - width - 4).map((line, index) =>
      `  ${(index === 0 ? left : '').padEnd(width)}  ${line}`.trimEnd(),
    ),
  )
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}
