/** Programs of `bench/imports` that do the same work again and again, once for each line of their input. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { endWithThisProcess, onAllCores } from './serverProcess.js'

const importsFolder = fileURLToPath(new URL('../imports', import.meta.url))

/**
 * How often such work is done before it is measured. After fewer times a part of the code is still compiled meanwhile:
 * half of the time of a first import.
 */
export const roundsBefore = 3

/** A running program; it may use all cores, unless `onCores` says otherwise. */
export class Program<T> {
  readonly #child
  readonly #lines: AsyncIterator<string>

  constructor(
    readonly name: string,
    words: readonly string[],
    onCores = onAllCores,
  ) {
    const [file = '', ...args] = onCores([process.execPath, join(importsFolder, `${name}.js`), ...words])
    this.#child = endWithThisProcess(spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] }))
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  /** Has it do its work once more; resolves to what it prints then. */
  async next(): Promise<T> {
    this.#child.stdin.write('\n')
    const { value, done } = await this.#lines.next()
    if (done === true) throw new Error(`bench/${this.name} ended before it was done`)
    return JSON.parse(value)
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.stdin.end()
    await ended
  }
}

/** The side of such a program: does `work` for each line of the input, and prints what it resolves to as JSON. */
export async function perform(work: () => Promise<unknown>): Promise<void> {
  for await (const _ of createInterface({ input: process.stdin })) console.log(JSON.stringify(await work()))
}
