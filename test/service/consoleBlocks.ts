/**
 * Follows a page of the documentation: runs the commands of its `console` blocks, in order, and compares the output
 * with the page.
 *
 * The shown output is matched line by line, in order; lines between may be left out. `…` matches anything. Text that
 * differs from run to run is compared by its form: keys and ids, times, rates, dates and ports.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { makeFolder } from '../library/folder.js'
import { waitFor } from '../library/until.js'

export interface ConsoleCommand {
  /** The text after `$ `, with its continuation lines. */
  readonly text: string
  readonly shown: readonly string[]
}

/** The commands of a page. */
function readCommands(markdown: string): ConsoleCommand[] {
  const commands: ConsoleCommand[] = []
  for (const [, block = ''] of markdown.matchAll(/^```console\n([\s\S]*?)^```$/gm)) {
    for (const part of block.split(/^\$ /m).slice(1)) {
      const lines = part.trimEnd().split('\n')
      let length = 1
      while (lines[length - 1]?.endsWith('\\')) length++
      commands.push({ text: lines.slice(0, length).join('\n'), shown: lines.slice(length) })
    }
  }
  return commands
}

/** Shown texts that differ from run to run, and the pattern for each. */
const varying: readonly (readonly [shown: RegExp, form: string])[] = [
  [/tg_\w*…\w*/, 'tg_\\w+'],
  [/0x[0-9a-f]{4}…[0-9a-f]{4}/, '0x[0-9a-f]+'],
  [/…/, '.*'],
  [/"(?:number|result)":"0x1[0-9a-f]{2}"/, '"\\w+":"0x[0-9a-f]{3}"'],
  [/block \d+n/, 'block \\d+n'],
  [/127\.0\.0\.1:\d+/, '127\\.0\\.0\\.1:\\d+'],
  [/\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ/, '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\dZ'],
  [/"(?:elapsedMs|blocksPerSecond|mgasPerSecond|leftMs|retryAfterMs)":[\d.]+/, '"\\w+":[\\d.]+'],
  [/\(\d[^()]* s(?:, [^()]*)?\)/, '\\([^()]*\\)'],
  [/\(seed \d+\)/, '\\(seed \\d+\\)'],
  [/signer [0-9a-f]{8}/, 'signer [0-9a-f]{8}'],
]
/** Names that the program makes: later commands of a page refer to the names of this run. */
const made: readonly (readonly [shown: RegExp, form: string])[] = [
  [/tg_\w+/, 'tg_\\w+'],
  [/\b[0-9a-f]{12}\b/, '[0-9a-f]{12}'],
  [/0x[0-9a-f]{32}\b/, '0x[0-9a-f]{32}'],
]
const forms = [...varying, ...made]
const places = new RegExp(forms.map(([shown]) => `(${shown.source})`).join('|'), 'g')

/** Names shown on a page, and the corresponding ones of this run. */
export type Names = Map<string, string>

/** Whether an output line matches the page. Adds the new names in it. */
function isAsShown(line: string, shown: string, names: Names): boolean {
  let form = ''
  let end = 0
  const found: string[] = []
  for (const match of shown.matchAll(places)) {
    const [text] = match
    const kind = match.slice(1).findIndex((group) => group !== undefined)
    form += escapeRegExp(shown.slice(end, match.index))
    end = match.index + text.length
    const known = names.get(text)
    if (kind < varying.length) form += forms[kind]?.[1]
    else if (known !== undefined) form += escapeRegExp(known)
    else form += `(${forms[kind]?.[1]})`
    if (kind >= varying.length && known === undefined) found.push(text)
  }
  const match = new RegExp(`^${form}${escapeRegExp(shown.slice(end))}$`).exec(line.trimEnd())
  for (const [index, text] of match === null ? [] : found.entries())
    names.set(text, match?.[index + 1] as string)
  return match !== null
}

function escapeRegExp(text: string): string {
  return text.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')
}

/** The first shown line that is missing from the output, in order; undefined if none is. */
function firstMissing(lines: readonly string[], shown: readonly string[], names: Names): string | undefined {
  let at = 0
  for (const each of shown) {
    if (each.trim() === '…') continue
    // On a busy machine the program listens before its source has a block.
    const early = each.replace(/\bhead [\d…]+/, 'no block yet')
    const isIt = (line: string) => isAsShown(line, each, names) || isAsShown(line, early, names)
    while (at < lines.length && !isIt(lines[at] as string)) at++
    if (at++ >= lines.length) return each
  }
  return undefined
}

/** Adjustments that a page cannot describe, for a machine with other users. */
export interface SessionOptions {
  /** Replacements in commands, in order. */
  readonly edits?: readonly (readonly [from: string | RegExp, to: string])[]
  /** Files that the page assumes, by their names in the folder. */
  readonly files?: Readonly<Record<string, string>>
}

/** A reader's shell in a copy of the repository, whose `data/live` is new. */
export class ConsoleSession {
  readonly folder: string
  readonly #edits: readonly (readonly [from: string | RegExp, to: string])[]
  readonly #env: Record<string, string | undefined>
  readonly #running = new Set<ChildProcess>()
  #server: ChildProcess | undefined
  readonly #names: Names = new Map()

  constructor(t: Test, { edits = [], files = {} }: SessionOptions = {}) {
    this.folder = makeFolder(t)
    this.#edits = edits
    const bin = join(this.folder, 'bin')
    mkdirSync(bin)
    const program = `#!/bin/sh\nexec '${process.execPath}' '${join(packageRoot(), 'dist/src/main.js')}' "$@"\n`
    writeFileSync(join(bin, 'tidegate'), program, { mode: 0o755 })
    this.#env = {
      ...process.env,
      PATH: `${bin}:${join(packageRoot(), 'node_modules/.bin')}:${process.env.PATH}`,
    }
    for (const name of readdirSync(packageRoot())) {
      if (name !== 'data' && name !== '.git') symlinkSync(join(packageRoot(), name), join(this.folder, name))
    }
    mkdirSync(join(this.folder, 'data'))
    symlinkSync(join(packageRoot(), 'data/devnet'), join(this.folder, 'data/devnet'))
    for (const [name, from] of Object.entries(files)) copyFileSync(from, join(this.folder, name))
    t.teardown(() => this.#end())
  }

  /** Runs a page, command by command. */
  async follow(
    t: Test,
    page: string,
    isSkipped: (command: string) => string | false = () => false,
  ): Promise<void> {
    const text = readFileSync(join(packageRoot(), page), 'utf8')
    for (const [, name = '', code = ''] of text.matchAll(
      /as `([\w.]+)`:\n\n```js(?:on)?\n([\s\S]*?)^```$/gm,
    )) {
      writeFileSync(join(this.folder, name), this.#edit(code))
    }
    const commands = readCommands(text)
    t.ok(commands.length > 0, `${page} has commands`)
    for (const command of commands) {
      const why = isSkipped(command.text) || this.#lacks(command.text)
      if (why !== false) t.comment(`${page}: not run: ${command.text.split('\n')[0]}: ${why}`)
      else await this.run(t, command)
    }
  }

  /** Runs a command, and tests that its output matches. Servers keep running until the session ends. */
  async run(t: Test, { text, shown }: ConsoleCommand): Promise<void> {
    let edited = this.#edit(text)
    for (const [theirs, ours] of this.#names) edited = edited.replaceAll(theirs, ours)
    // A reader is slower than this, and tries again.
    if (edited.startsWith('curl ')) {
      let said = ''
      const isSeen = () => {
        said = execFileSync('bash', ['-c', `${edited} || true`], { env: this.#env, encoding: 'utf8' })
        return firstMissing(said.split('\n'), shown, this.#names) === undefined
      }
      await waitFor(edited, isSeen, 200).catch(() => t.fail(edited, { said, shown }))
      t.pass(edited)
      return
    }
    const serves = /\b(serve|npm start)\b/.test(edited)
    const goesOn = serves || edited.endsWith('&')
    if (serves) await this.#endServer()
    const child = spawn('bash', ['-c', edited], {
      cwd: this.folder,
      env: this.#env,
      detached: true,
      // The input stays open, because wscat ends with it.
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.#running.add(child)
    if (serves) this.#server = child
    let said = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        said += chunk
      })
    }
    let hasEnded = false
    child.on('close', (status) => {
      hasEnded = true
      if (status !== 0 && status !== null) t.fail(`${edited}: it ended with status ${status}`, { said })
      this.#running.delete(child)
    })
    const missing = () => firstMissing(said.split('\n'), shown, this.#names)
    const isSeen = () => missing() === undefined && (!goesOn || shown.length > 0 || /http/.test(said))
    await waitFor(edited, () => hasEnded || isSeen()).catch(() => undefined)
    t.equal(missing(), undefined, edited, isSeen() ? {} : { said: said.split('\n') })
    const [key] = /tg_\w{40,}/.exec(said) ?? []
    this.#env.KEY ??= key
    if (goesOn) return
    // A loop that a reader ends by Ctrl-C.
    if (/^while /.test(edited)) this.#kill(child)
    await waitFor(`the end of: ${edited}`, () => hasEnded)
  }

  /** Reason why a command cannot run here. */
  #lacks(command: string): string | false {
    if (command.startsWith('npx ') && process.env.PACKAGE !== '1') return 'PACKAGE=1 fetches packages'
    const program = /\b(curl|openssl|anvil)\b/.exec(command)?.[0]
    const isThere =
      spawnSync('bash', ['-c', `command -v ${program ?? 'bash'}`], { env: this.#env }).status === 0
    return !isThere && `there is no ${program ?? 'bash'}`
  }

  #edit(text: string): string {
    return this.#edits.reduce((edited, [from, to]) => edited.replaceAll(from, to), text)
  }

  /** A reader ends a server before starting the next. */
  async #endServer(): Promise<void> {
    const server = this.#server
    if (server === undefined) return
    this.#kill(server)
    await waitFor('the end of the server', () => !this.#running.has(server))
  }

  #kill({ pid }: ChildProcess): void {
    try {
      process.kill(-(pid as number), 'SIGTERM')
    } catch {
      // The process ended by itself.
    }
  }

  async #end(): Promise<void> {
    const running = [...this.#running]
    for (const child of running) this.#kill(child)
    await waitFor('the end of what was started', () => this.#running.size === 0)
  }
}

/** Reason to skip a page that needs a path; false if the path exists. */
export function without(path: string): string | false {
  return !existsSync(path) && `there is no ${path}`
}
