import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { RLP } from '@ethereumjs/rlp'
import fc from 'fast-check'
import t from 'tap'
import { bytesToHex } from '../../../../src/primitives/bytes.js'
import { ChainFileError, readChainFile } from '../../../../src/sources/ingest/blocks/chainFile.js'
import { propertyRuns } from '../../../library/property.js'

async function readAll(path: string) {
  const blocks: { rlp: string; offset: number }[] = []
  let read = 0
  let error: unknown
  try {
    for await (const { rlp, offset } of readChainFile(path, (bytes) => {
      read = bytes
    })) {
      blocks.push({ rlp: bytesToHex(rlp), offset })
    }
  } catch (caught) {
    error = caught
  }
  return { blocks, read, error: error as ChainFileError | undefined }
}

/** Blocks for a reader that looks at their outermost length only. */
const small = [1, 60, 300, 5].map((size, index) => RLP.encode([new Uint8Array(size).fill(index + 0x81)]))
const offsets = small.map((_, index) => small.slice(0, index).reduce((sum, { length }) => sum + length, 0))
const whole = Buffer.concat(small)

t.test('blocks are read in order with their offsets, packed or not', async (t) => {
  const folder = t.testdir()
  for (const [name, content] of Object.entries({ plain: whole, gzip: gzipSync(whole) })) {
    const path = join(folder, name)
    writeFileSync(path, content)
    const { blocks, read, error } = await readAll(path)
    t.equal(error, undefined)
    t.equal(read, content.length)
    t.strictSame(
      blocks,
      small.map((rlp, index) => ({ rlp: bytesToHex(rlp), offset: offsets[index] })),
    )
  }
})

t.test('a file cut short anywhere yields its whole blocks and names the byte', async (t) => {
  const path = join(t.testdir(), 'cut')
  for (let length = 1; length < whole.length; length++) {
    writeFileSync(path, whole.subarray(0, length))
    const { blocks, error } = await readAll(path)
    const complete = offsets.filter((offset, index) => offset + (small[index]?.length ?? 0) <= length).length
    if (blocks.length !== complete) t.equal(blocks.length, complete, `${length} bytes`)
    const at = offsets[complete]
    if (offsets.includes(length)) {
      if (error !== undefined) t.fail(`${length} bytes end at a block`)
    } else {
      const message = `${path}: the block at byte ${at} is cut short; the file ends at byte ${length}`
      if (error?.message !== message || !(error instanceof ChainFileError)) t.equal(error?.message, message)
    }
  }
  t.pass('every length')
})

t.test('a packed file cut short is refused', async (t) => {
  const path = join(t.testdir(), 'cut.gz')
  const packed = gzipSync(whole)
  for (const length of [2, 10, packed.length - 9, packed.length - 1]) {
    writeFileSync(path, packed.subarray(0, length))
    const { error } = await readAll(path)
    t.match(error, { name: 'ChainFileError', message: /unexpected end of file|is empty/ }, `${length} bytes`)
  }
  const damaged = Buffer.from(packed)
  damaged[packed.length - 6] = (damaged[packed.length - 6] as number) ^ 1
  writeFileSync(path, damaged)
  t.match((await readAll(path)).error, { name: 'ChainFileError' })
})

t.test('other data is refused with the byte where it begins', async (t) => {
  const path = join(t.testdir(), 'garbage')
  const cases: [string, Uint8Array, RegExp][] = [
    ['a string', Uint8Array.of(0x05), /found other data/],
    ['a long string', Uint8Array.of(0xb8, 60), /found other data/],
    ['a length with a leading zero', Uint8Array.of(0xf9, 0, 60, 1, 2, 3, 4, 5, 6, 7), /leading zero/],
    ['the long form of a short length', Uint8Array.of(0xf8, 3, 1, 2, 3), /long form/],
    [
      'a gigabyte',
      Uint8Array.of(0xfb, 0x40, 0, 0, 0, 1, 2, 3, 4, 5),
      /claims 1073741829 bytes, more than 20971520/,
    ],
    ['more than a number holds', Uint8Array.of(0xff, 255, 255, 255, 255, 255, 255, 255, 255, 1), /2\^53/],
  ]
  for (const [what, bytes, why] of cases) {
    for (const before of [0, 2]) {
      const at = offsets[before]
      writeFileSync(path, Buffer.concat([...small.slice(0, before), bytes]))
      const { blocks, error } = await readAll(path)
      t.equal(blocks.length, before, what)
      t.match(
        error,
        { name: 'ChainFileError', message: new RegExp(`: no block at byte ${at}: .*${why.source}`) },
        what,
      )
    }
  }
})

t.test('a file that is empty, a folder or not there is refused', async (t) => {
  const folder = t.testdir({ empty: '' })
  writeFileSync(join(folder, 'empty.gz'), gzipSync(Buffer.alloc(0)))
  t.match((await readAll(join(folder, 'empty'))).error, { name: 'ChainFileError', message: /is empty/ })
  t.match((await readAll(join(folder, 'empty.gz'))).error, { name: 'ChainFileError', message: /is empty/ })
  t.match((await readAll(folder)).error, { name: 'ChainFileError' })
  t.match((await readAll(join(folder, 'none'))).error, { name: 'ChainFileError', message: /no such file/ })
})

t.test('blocks that span reads of the file arrive whole', async (t) => {
  const path = join(t.testdir(), 'large')
  // A read takes 1 MiB; lengths around it and its multiples put headers on both sides of an edge.
  const edge = 1024 * 1024
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.nat(200), fc.integer({ min: edge - 12, max: edge + 2 }), fc.nat(3 * edge)), {
        minLength: 1,
        maxLength: 6,
      }),
      fc.boolean(),
      async (sizes, isPacked) => {
        const blocks = sizes.map((size, index) => RLP.encode([new Uint8Array(size).fill(index)]))
        const content = Buffer.concat(blocks)
        writeFileSync(path, isPacked ? gzipSync(content, { level: 1 }) : content)
        let offset = 0
        let index = 0
        for await (const block of readChainFile(path, () => undefined)) {
          const want = blocks[index++] as Uint8Array
          if (block.offset !== offset || Buffer.compare(block.rlp, want) !== 0) return false
          offset += want.length
        }
        return index === blocks.length
      },
    ),
    propertyRuns(25),
  )
  t.pass('all arrive')
})

t.test('a reader that stops early leaves nothing open', async (t) => {
  const path = join(t.testdir(), 'stop.gz')
  writeFileSync(path, gzipSync(whole))
  for await (const { offset } of readChainFile(path, () => undefined)) {
    t.equal(offset, 0)
    break
  }
})
