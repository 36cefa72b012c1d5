import { stat } from 'node:fs/promises'
import type { Logger } from 'pino'
import { setTimeout } from '../../primitives/timers.js'
import { readTlsFiles, type TlsFiles } from '../../serving/transport/tlsFiles.js'

/**
 * Time between two checks of the files: two system calls each. Links may change as well, for which there is no event.
 */
const lookMs = 1_000

/** Notices a replaced certificate. */
export class TlsWatch {
  readonly #log: Logger
  readonly #renew: () => void
  #files: TlsFiles | undefined
  /** Identifies the versions of the files; undefined before the first check. */
  #seen: string | undefined
  #timer: NodeJS.Timeout | undefined

  /**
   * `renew` is called when the files have changed and fit each other. It is also called after the first check, because
   * the files may have changed since they were read.
   */
  constructor(log: Logger, renew: () => void) {
    this.#log = log
    this.#renew = renew
  }

  /** Watches these files instead of the previous ones. */
  follow(files: TlsFiles | undefined): void {
    clearTimeout(this.#timer)
    this.#files = files
    this.#seen = undefined
    if (files !== undefined) this.#lookSoon(files)
  }

  #lookSoon(files: TlsFiles): void {
    this.#timer = setTimeout(async () => {
      const versions = await Promise.all([files.cert, files.key].map(versionOf))
      if (this.#files !== files) return
      this.#compare(files, versions.join())
      this.#lookSoon(files)
    }, lookMs).unref()
  }

  #compare(files: TlsFiles, seen: string): void {
    const before = this.#seen
    this.#seen = seen
    if (before === seen) return
    try {
      readTlsFiles(files)
      this.#renew()
      if (before !== undefined) {
        this.#log.info({ cert: files.cert }, 'new connections get the new certificate')
      }
    } catch (error) {
      // One of the two files may not be replaced yet.
      this.#log.warn(`${(error as Error).message}; the former certificate stays`)
    }
  }
}

async function versionOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeMs } = await stat(path)
    return `${dev} ${ino} ${size} ${mtimeMs}`
  } catch {
    return ''
  }
}
