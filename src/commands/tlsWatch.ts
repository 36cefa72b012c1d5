import { type StatsListener, unwatchFile, watchFile } from 'node:fs'
import type { Logger } from 'pino'
import { readTlsFiles, type TlsFiles } from '../transport/tlsFiles.js'

/** Time between two looks at the files: two calls of the system each. Links may change as well, which no event tells. */
const lookMs = 1_000

/** Notices that the files of a certificate were replaced. */
export class TlsWatch {
  readonly #log: Logger
  readonly #renew: () => void
  #files: TlsFiles | undefined

  /** `renew` is called when files have changed that fit each other. */
  constructor(log: Logger, renew: () => void) {
    this.#log = log
    this.#renew = renew
  }

  /** Watches these files instead of those before. */
  follow(files: TlsFiles | undefined): void {
    for (const path of pathsOf(this.#files)) unwatchFile(path, this.#look)
    this.#files = files
    for (const path of pathsOf(files)) watchFile(path, { persistent: false, interval: lookMs }, this.#look)
  }

  readonly #look: StatsListener = () => {
    if (this.#files === undefined) return
    try {
      readTlsFiles(this.#files)
      this.#renew()
      this.#log.info({ cert: this.#files.cert }, 'new connections get the new certificate')
    } catch (error) {
      // Perhaps one of the two is still to come.
      this.#log.warn(`${(error as Error).message}; the former certificate stays`)
    }
  }
}

function pathsOf(files: TlsFiles | undefined): string[] {
  return files === undefined ? [] : [files.cert, files.key]
}
