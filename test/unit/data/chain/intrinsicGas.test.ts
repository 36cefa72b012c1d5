import t from 'tap'
import { calldataFloorGas, intrinsicGas, shapeOfData } from '../../../../src/data/chain/intrinsicGas.js'

t.test('zeros are counted wherever they stand, from any offset', async (t) => {
  const memory = new Uint8Array(64)
  for (let at = 0; at < memory.length; at++)
    memory[at] = (at * 37) % 5 === 0 ? 0 : ([1, 0x7f, 0x80, 0xff][at % 4] as number)
  let wrong = 0
  for (let start = 0; start < 12; start++) {
    for (let end = start; end <= memory.length; end++) {
      const data = memory.subarray(start, end)
      const zeros = data.filter((byte) => byte === 0).length
      const shape = shapeOfData(data)
      if (shape.zeros !== zeros || shape.bytes !== end - start) wrong++
    }
  }
  t.equal(wrong, 0)
  t.same(shapeOfData(new Uint8Array(1_000)), { bytes: 1_000, zeros: 1_000 })
  t.same(shapeOfData(new Uint8Array(1_000).fill(0x80)), { bytes: 1_000, zeros: 0 })
})

t.test('calldata costs by its zeros and its other bytes', async (t) => {
  const data = shapeOfData(Uint8Array.of(0, 1, 0, 255, 3))
  const shape = {
    isCreation: false,
    isToSelf: false,
    hasValue: true,
    data,
    listedAddresses: 1,
    listedSlots: 2,
    authorizations: 0,
  }
  const listed = 2_400n + 2n * 1_900n
  t.equal(intrinsicGas(shape, 'chainstart'), 21_000n + 2n * 4n + 3n * 68n + listed)
  t.equal(intrinsicGas(shape, 'istanbul'), 21_000n + 2n * 4n + 3n * 16n + listed)
  t.equal(intrinsicGas(shape, 'amsterdam'), 21_000n + 2n * 4n + 3n * 16n + 4_180n + 2n * 4_048n)
  t.equal(intrinsicGas({ ...shape, hasValue: false }, 'amsterdam'), 27_332n)
  t.equal(intrinsicGas({ ...shape, isToSelf: true }, 'amsterdam'), 24_332n)
  t.equal(intrinsicGas({ ...shape, isCreation: true }, 'amsterdam'), 36_334n)
  t.equal(calldataFloorGas(shape, 'cancun'), 0n)
  t.equal(calldataFloorGas(shape, 'prague'), 21_000n + (2n + 3n * 4n) * 10n)
  t.equal(calldataFloorGas(shape, 'amsterdam'), 21_000n + (5n + 20n + 2n * 32n) * 64n)
})
