// @shares
import { spawnSync } from 'node:child_process'
import { deflateRawSync, gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { describeDeflated, gzipMember, storedBytesMax } from '../../../../src/serving/transport/gzipMember.js'
import { propertyRuns } from '../../../library/property.js'

const member = (text: string, bytes: Uint8Array) =>
  Buffer.concat(gzipMember(text, describeDeflated(bytes, deflateRawSync(bytes))))

t.test('a member of any text and any bytes decompresses to both, its checksum included', async (t) => {
  const parts = [fc.string({ unit: 'binary' }), fc.uint8Array({ maxLength: 5_000 })] as const
  const run = (text: string, bytes: Uint8Array) =>
    gunzipSync(member(text, bytes)).equals(Buffer.concat([Buffer.from(text), bytes]))
  t.doesNotThrow(() => fc.assert(fc.property(...parts, run), propertyRuns(500)))
})

t.test('so does one of the longest text, and a longer one is refused', async (t) => {
  const bytes = Buffer.alloc(3_000_001, 'tide')
  const text = 'x'.repeat(storedBytesMax)
  t.ok(gunzipSync(member(text, bytes)).equals(Buffer.concat([Buffer.from(text), bytes])))
  t.throws(() => member(`${text}x`, bytes), { message: '65536 bytes do not fit into a stored block' })
})

t.test('a wrong checksum would be noticed', async (t) => {
  const bytes = member('id', Buffer.from('tide'))
  bytes[bytes.length - 5] = (bytes.at(-5) as number) ^ 1
  t.throws(() => gunzipSync(bytes), /data check/)
})

t.test('gzip reads it', async (t) => {
  const bytes = Buffer.alloc(200_000, '0123456789')
  const { stdout, error } = spawnSync('gzip', ['-dc'], { input: member('{"id":7', bytes) })
  if (error !== undefined) t.comment('there is no gzip here')
  else t.ok(stdout.equals(Buffer.concat([Buffer.from('{"id":7'), bytes])))
})
