import { keccak_256 } from '@noble/hashes/sha3.js'
import t from 'tap'
import { bytesToHex, concatBytes, padLeft, toMinimalBytes } from '../../../../src/primitives/bytes.js'
import { runCode } from './machine.js'

/** KECCAK256 of the input. */
const hashInput = Uint8Array.of(0x36, 0x5f, 0x5f, 0x37, 0x36, 0x5f, 0x20, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3)

t.test('KECCAK256 of inputs of every length around its blocks is that of independent code', async (t) => {
  for (let length = 0; length <= 420; length++) {
    const input = Uint8Array.from({ length }, (_, at) => (at * 31 + length) & 0xff)
    const hash = bytesToHex(runCode(hashInput, input))
    if (hash !== bytesToHex(keccak_256(input))) return t.fail(`length ${length}`)
  }
  t.pass('421 lengths')
})

t.test('an entry of a mapping is hashed right the first and every further time', async (t) => {
  // Two hashes in one run: the second comes from the cache.
  const twice = Uint8Array.of(
    ...[0x60, 0x40, 0x5f, 0x5f, 0x37],
    ...[0x60, 0x40, 0x5f, 0x20, 0x60, 0x40, 0x52, 0x60, 0x40, 0x5f, 0x20, 0x60, 0x60, 0x52],
    ...[0x60, 0x40, 0x60, 0x40, 0xf3],
  )
  for (let key = 0; key < 3_000; key++) {
    const input = concatBytes(padLeft(toMinimalBytes(key % 1_500), 32), padLeft(toMinimalBytes(key % 7), 32))
    const hash = bytesToHex(keccak_256(input)).slice(2)
    if (bytesToHex(runCode(twice, input)) !== `0x${hash}${hash}`) return t.fail(`key ${key}`)
  }
  t.pass('3,000 keys')
})
