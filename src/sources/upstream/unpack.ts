import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { UpstreamFailure } from './line.js'

const unpackers = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
} as const

/** The `Accept-Encoding` of requests: what {@link unpack} reads. */
export const acceptEncoding = 'gzip, deflate, br'

/**
 * The bytes of a body as its `Content-Encoding` says, at most `bytesMax`: a short one may unpack to a thousand times as
 * much. Throws {@link UpstreamFailure}.
 */
export async function unpack(body: Buffer, encoding: unknown, bytesMax: number): Promise<Buffer> {
  const codings = String(encoding ?? '')
    .toLowerCase()
    .split(',')
    .map((each) => each.trim())
  let bytes = body
  for (const coding of codings.reverse()) {
    if (coding === '' || coding === 'identity') continue
    const unpacker = unpackers[coding as keyof typeof unpackers]
    if (!Object.hasOwn(unpackers, coding)) {
      throw new UpstreamFailure('unreadable', 'a body in a coding that was not asked for')
    }
    bytes = await unpacker(bytes, { maxOutputLength: bytesMax }).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ERR_BUFFER_TOO_LARGE') throw tooLong(bytesMax)
      throw new UpstreamFailure('unreadable', `a body that cannot be unpacked (${error.code})`)
    })
  }
  return bytes
}

export function tooLong(bytesMax: number): UpstreamFailure {
  return new UpstreamFailure('tooLong', `an answer of more than ${bytesMax} bytes`)
}
