/**
 * Runs a program that installs or uses a package of another language or version. Rejects with its output if it fails.
 */
import { execFile } from 'node:child_process'
import { inTime } from '../library/until.js'

export function runScript(
  words: readonly string[],
  { cwd, env = {} }: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<string> {
  const ended = new Promise<string>((resolve, reject) => {
    const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 2 ** 26 }
    execFile(words[0] ?? '', words.slice(1), options, (error, out, err) =>
      error === null ? resolve(out) : reject(new Error(`${words.join(' ')}: ${error.message} ${out}${err}`)),
    )
  })
  return inTime(words.join(' '), ended)
}
