import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { createGunzip } from 'node:zlib'
import { RlpError, readRlpHeader, rlpHeaderBytesMax } from '../../../primitives/rlp.js'

/** A chain file that cannot be read to its end. `message` names the file and, within its blocks, the byte. */
export class ChainFileError extends Error {
  override readonly name = 'ChainFileError'
}

export interface FileBlock {
  /** The block's RLP, owned by the receiver. */
  readonly rlp: Uint8Array
  /** Offset of its start in the (uncompressed) file. */
  readonly offset: number
}

/**
 * Largest block accepted. Blocks have at most 10 MiB (EIP-7934; older ones by their gas limit); twice that excludes
 * invalid data whose first bytes claim gigabytes.
 */
const blockBytesMax = 20 * 1024 * 1024
/** Bytes per read: large enough that reading takes negligible time. */
const readBytes = 1024 * 1024

/**
 * Blocks of a file of concatenated RLP blocks, plain or gzip (recognised by its first bytes), in order. `onRead` gets
 * the bytes of the file read so far, compressed. Throws {@link ChainFileError}.
 */
export async function* readChainFile(
  path: string,
  onRead: (bytes: number) => void = () => undefined,
): AsyncGenerator<FileBlock> {
  const packed = await isGzip(path)
  let taken = 0
  const file = createReadStream(path, { highWaterMark: readBytes })
  if (packed) {
    // The compressed size of a block is not known, so progress is counted in bytes read.
    file.on('data', (chunk) => {
      taken += chunk.length
      onRead(taken)
    })
  }
  const stream = packed ? file.pipe(createGunzip({ chunkSize: readBytes })) : file
  if (stream !== file) file.on('error', (error) => stream.destroy(error))
  let pending: Uint8Array = new Uint8Array(0)
  let offset = 0
  let blocks = 0
  try {
    for await (const chunk of stream) {
      pending = pending.length === 0 ? (chunk as Buffer) : Buffer.concat([pending, chunk as Buffer])
      let start = 0
      for (;;) {
        const end = blockEnd(pending, start, offset, path)
        if (end === undefined || end > pending.length) break
        yield { rlp: Uint8Array.from(pending.subarray(start, end)), offset: offset + start }
        blocks++
        start = end
        if (!packed) onRead(offset + start)
      }
      offset += start
      pending = pending.subarray(start)
    }
  } catch (error) {
    if (error instanceof ChainFileError) throw error
    throw new ChainFileError(`${path}: ${(error as Error).message} after byte ${offset + pending.length}`)
  } finally {
    file.destroy()
  }
  if (pending.length > 0) {
    throw new ChainFileError(
      `${path}: the block at byte ${offset} is cut short; the file ends at byte ${offset + pending.length}`,
    )
  }
  if (blocks === 0) throw new ChainFileError(`${path}: the file is empty`)
}

/** End of the block at `start`; undefined while its header has not arrived. */
function blockEnd(pending: Uint8Array, start: number, offset: number, path: string): number | undefined {
  const pendingBytes = pending.length - start
  if (pendingBytes === 0) return undefined
  try {
    const { isList, end } = readRlpHeader(pending, start)
    if (!isList) throw new RlpError('expected an RLP list, found other data', start)
    if (end - start > blockBytesMax)
      throw new RlpError(`the block claims ${end - start} bytes, more than ${blockBytesMax}`, start)
    return end
  } catch (error) {
    if (!(error instanceof RlpError)) throw error
    if (error.why === 'length cut short' && pendingBytes < rlpHeaderBytesMax) return undefined
    throw new ChainFileError(`${path}: no block at byte ${offset + start}: ${error.why}`)
  }
}

async function isGzip(path: string): Promise<boolean> {
  const [first, second] = await firstBytes(path, 2)
  return first === 0x1f && second === 0x8b
}

/** Up to `count` bytes at the start of a file. Rejects with {@link ChainFileError}. */
export async function firstBytes(path: string, count: number): Promise<Uint8Array> {
  let file: Awaited<ReturnType<typeof open>>
  try {
    file = await open(path)
  } catch (error) {
    throw new ChainFileError(
      `${path}: ${(error as NodeJS.ErrnoException).code === 'ENOENT' ? 'no such file' : (error as Error).message}`,
    )
  }
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(count), 0, count, 0)
    return buffer.subarray(0, bytesRead)
  } catch (error) {
    throw new ChainFileError(`${path}: ${(error as Error).message}`)
  } finally {
    await file.close()
  }
}
