/**
 * Sources of state tests: JSON files, folders of them, and `.tar.gz` archives, which are read while they are unpacked.
 */
import { createReadStream, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createGunzip } from 'node:zlib'

export interface TestFile {
  readonly path: string
  readonly text: string
}

/** The JSON files at a path of whose paths `accept` approves, one after the other. */
export async function* readTestFiles(
  path: string,
  accept: (path: string) => boolean = () => true,
): AsyncGenerator<TestFile> {
  if (statSync(path).isDirectory()) {
    for (const name of readdirSync(path).sort()) yield* readTestFiles(join(path, name), accept)
  } else if (/\.(?:tar\.gz|tgz)$/.test(path)) {
    for await (const entry of unpack(path)) {
      if (entry.path.endsWith('.json') && accept(entry.path)) {
        yield { path: entry.path, text: Buffer.concat(entry.parts).toString() }
      }
    }
  } else if (path.endsWith('.json') && accept(path)) yield { path, text: readFileSync(path, 'utf8') }
}

const blockBytes = 512

/** Members of an archive (POSIX.1-2001, pax; long names also as GNU tar writes them). */
async function* unpack(path: string): AsyncGenerator<{ readonly path: string; readonly parts: Buffer[] }> {
  const blocks = new Blocks(createReadStream(path).pipe(createGunzip()))
  let longName: string | undefined
  for (;;) {
    const [head] = await blocks.take(blockBytes)
    // Two blocks of zeros are the end.
    if (head === undefined || head[0] === 0) return
    const text = (from: number, to: number) => head.toString('utf8', from, to).replace(/\0.*$/s, '')
    const size = Number.parseInt(text(124, 136), 8)
    const parts = await blocks.take(size)
    await blocks.take((blockBytes - (size % blockBytes)) % blockBytes)
    const type = text(156, 157)
    if (type === 'L') longName = Buffer.concat(parts).toString().replace(/\0.*$/s, '')
    else if (type === 'x') longName = /\d+ path=(.*)\n/.exec(Buffer.concat(parts).toString())?.[1]
    else {
      const prefix = text(257, 262) === 'ustar' && text(345, 500)
      const name = longName ?? (prefix ? `${prefix}/${text(0, 100)}` : text(0, 100))
      if (type === '0' || type === '') yield { path: name, parts }
      longName = undefined
    }
  }
}

/** Reads a stream's bytes, the requested number at a time. */
class Blocks {
  readonly #chunks: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(stream: AsyncIterable<Buffer>) {
    this.#chunks = stream[Symbol.asyncIterator]()
  }

  /** Reads bytes in the parts in which they arrived; a block of {@link blockBytes} is one part. */
  async take(bytes: number): Promise<Buffer[]> {
    const parts: Buffer[] = []
    for (let left = bytes; left > 0; ) {
      if (this.#rest.length === 0) {
        const { value, done } = await this.#chunks.next()
        if (done) return parts
        this.#rest = value
      }
      const part = this.#rest.subarray(0, left)
      this.#rest = this.#rest.subarray(part.length)
      parts.push(part)
      left -= part.length
    }
    return bytes === blockBytes && parts.length > 1 ? [Buffer.concat(parts)] : parts
  }
}
