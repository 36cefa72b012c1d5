/** Scripts that complete command lines in a shell, made from the declarations of the commands. */
import { type Command, type Flag, flagToWord, switchFlag } from './commandLine.js'

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

/** The script for a shell, to be evaluated by it. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  const render = { bash: bashScript, zsh: zshScript, fish: fishScript }[shell]
  return render(commands)
}

/** Possible first words, each with its purpose. */
function firstWords(commands: readonly Command[]): Map<string, string> {
  const words = new Map<string, string>()
  for (const { name, summary } of commands) {
    const [first = '', second] = name.split(' ')
    if (!words.has(first)) words.set(first, second === undefined ? summary : `commands of ${first}`)
  }
  return words
}

interface Group {
  readonly name: string
  /** Second word of each command and its purpose. */
  readonly members: readonly (readonly [word: string, summary: string])[]
}

function groupsOf(commands: readonly Command[]): Group[] {
  const inGroups = commands.filter(({ name }) => name.includes(' '))
  const names = new Set(inGroups.map(({ name }) => name.split(' ')[0] as string))
  return [...names].map((name) => ({
    name,
    members: inGroups
      .filter((command) => command.name.startsWith(`${name} `))
      .map((command) => [command.name.slice(name.length + 1), command.summary] as const),
  }))
}

/** Whether a value is the path of a file or folder, judging by its placeholder. */
function isPath(placeholder: string | undefined): boolean {
  return /^(FILE|DIR|FOLDER|CHAIN)$/.test(placeholder ?? '')
}

function flagsOf({ flags }: Command): (readonly [word: string, flag: Flag<unknown>])[] {
  return [
    ...Object.entries(flags).map(([name, flag]) => [flagToWord(name), flag] as const),
    ['--help', helpFlag] as const,
  ]
}

const helpFlag = switchFlag('what the command does, its flags and examples')

/** Text within single quotes, valid in all three shells. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function bashScript(commands: readonly Command[]): string {
  const values = commands.flatMap((command) =>
    flagsOf(command)
      .filter(([, { placeholder }]) => placeholder !== undefined)
      .map(([word, { placeholder, choices }]) => {
        const act = choices ? `words=${quote(choices.join(' '))}` : isPath(placeholder) ? 'files=1' : 'return'
        return `    ${quote(`${command.name} ${word}`)}) ${act} ;;`
      }),
  )
  const rest = commands.map((command) => {
    const words = flagsOf(command).map(([word]) => word)
    const { positionals } = command
    const files = isPath(positionals?.placeholder) ? '; files=1' : ''
    const choices = positionals?.choices ?? []
    return `      ${quote(command.name)}) words=${quote([...choices, ...words].join(' '))}${files} ;;`
  })
  const groups = groupsOf(commands).map(
    ({ name, members }) =>
      `    ${name}) if [ "$COMP_CWORD" -eq 2 ]; then words=${quote(members.map(([word]) => word).join(' '))}; else command="${name} \${COMP_WORDS[2]}"; fi ;;`,
  )
  return `# Completion of tidegate for bash: source <(tidegate completion bash)
_tidegate() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} command=\${COMP_WORDS[1]} words= files=
  COMPREPLY=()
  [ "$COMP_CWORD" -eq 1 ] && words=${quote([...firstWords(commands).keys()].join(' '))}
  case $command in
${groups.join('\n')}
  esac
  [ -z "$words" ] && case "$command $before" in
${values.join('\n')}
    *) case $command in
${rest.join('\n')}
    esac ;;
  esac
  [ -n "$files" ] && case $word in -*) ;; *) compopt -o default 2>/dev/null; return ;; esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _tidegate tidegate`
}

function zshScript(commands: readonly Command[]): string {
  const describe = (words: Iterable<readonly [string, string]>) =>
    [...words].map(([word, summary]) => quote(`${word}:${summary}`)).join(' ')
  const groups = groupsOf(commands).map(
    ({ name, members }) =>
      `    ${name}) if (( CURRENT == 3 )); then choices=(${describe(members)}); _describe command choices; return; fi
      command="${name} $words[3]"; shift words; (( CURRENT-- )) ;;`,
  )
  const rest = commands.map((command) => {
    const flags = flagsOf(command).map(([word, { placeholder, summary, choices, isList }]) => {
      const text = `[${summary.replaceAll(/[[\]]/g, '\\$&').replaceAll(':', '\\:')}]`
      const action = choices ? `(${choices.join(' ')})` : isPath(placeholder) ? '_files' : ' '
      return quote(
        `${isList ? '*' : ''}${word}${text}${placeholder === undefined ? '' : `:${placeholder}:${action}`}`,
      )
    })
    const { placeholder, choices } = command.positionals ?? {}
    const action = choices ? `(${choices.join(' ')})` : isPath(placeholder) ? '_files' : ' '
    const words = placeholder === undefined ? [] : [quote(`*:${placeholder}:${action}`)]
    return `    ${quote(command.name)}) _arguments ${[...flags, ...words].join(' ')} ;;`
  })
  return `#compdef tidegate
# Completion of tidegate for zsh: source <(tidegate completion zsh)
_tidegate() {
  local command=$words[2]
  local -a choices
  if (( CURRENT == 2 )); then choices=(${describe(firstWords(commands))}); _describe command choices; return; fi
  case $command in
${groups.join('\n')}
  esac
  shift words; (( CURRENT-- ))
  case $command in
${rest.join('\n')}
  esac
}
compdef _tidegate tidegate`
}

function fishScript(commands: readonly Command[]): string {
  const line = (condition: string, rest: string) => `complete -c tidegate -n ${quote(condition)} ${rest}`
  const seen = (word: string) => `__fish_seen_subcommand_from ${word}`
  return [
    '# Completion of tidegate for fish: tidegate completion fish | source',
    'complete -c tidegate -f',
    ...[...firstWords(commands)].map(([word, summary]) =>
      line('__fish_use_subcommand', `-a ${word} -d ${quote(summary)}`),
    ),
    ...groupsOf(commands).flatMap(({ name, members }) => {
      const others = members.map(([word]) => word).join(' ')
      return members.map(([word, summary]) =>
        line(`${seen(name)}; and not ${seen(others)}`, `-a ${word} -d ${quote(summary)}`),
      )
    }),
    ...commands.flatMap((command) => {
      const condition = command.name.split(' ').map(seen).join('; and ')
      const flags = flagsOf(command).map(([word, { placeholder, summary, choices }]) => {
        const value = placeholder === undefined ? '' : isPath(placeholder) ? ' -rF' : ' -x'
        const words = choices ? ` -a ${quote(choices.join(' '))}` : ''
        return line(condition, `-l ${word.slice(2)}${value}${words} -d ${quote(summary)}`)
      })
      const { placeholder, choices } = command.positionals ?? {}
      const words = choices ? [line(condition, `-a ${quote(choices.join(' '))}`)] : []
      return [...flags, ...words, ...(isPath(placeholder) ? [line(condition, '-F')] : [])]
    }),
  ].join('\n')
}
