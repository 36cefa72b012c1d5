import { ecrecover as portableEcrecover } from '@ethereumjs/util'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  binarySecp256k1,
  type Libsecp256k1,
  wasmSecp256k1,
} from '../../../../src/execution/evm/transactions/libsecp256k1.js'
import { bytesToHex, padLeft, toMinimalBytes } from '../../../../src/primitives/bytes.js'
import { ecrecoverBy } from '../../../library/ecrecover.js'
import { propertyRuns } from '../../../library/property.js'

const curveOrder = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const generatorX = 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n

const hash32 = { minLength: 32, maxLength: 32 }
const word = (value: bigint) => padLeft(toMinimalBytes(value), 32)
/** Any number below `end`; numbers near the ends and near powers of two come often. */
const below = (end: bigint) =>
  fc.oneof(
    fc.bigInt({ min: 0n, max: end - 1n }),
    fc.bigInt({ min: 0n, max: 40n }).map((near) => end - 1n - near),
    fc
      .tuple(fc.integer({ min: 0, max: 255 }), fc.bigInt({ min: -2n, max: 2n }))
      .map(([bit, near]) => ((1n << BigInt(bit)) + near + end) % end),
  )

type Recover = typeof portableEcrecover

/** The key, or the words of the refusal. */
function outcomeOf(recover: Recover, ...input: Parameters<Recover>): string {
  try {
    return bytesToHex(recover(...input))
  } catch (error) {
    return String(error)
  }
}

const binary = binarySecp256k1()
t.test('the binary is there on systems that the package has one for', async (t) => {
  const system = `${process.platform}-${process.arch}`
  const known = ['linux-x64', 'darwin-arm64', 'win32-x64'].includes(system)
  if (known) t.ok(binary, system)
  else t.pass(`${system} has one where it was compiled`)
})

for (const [name, library] of Object.entries({ binary, WebAssembly: wasmSecp256k1() })) {
  const skip = library === undefined && `there is no ${name} for this system`
  t.test(name, { skip }, async (t) => {
    testRecovery(t, ecrecoverBy(library ?? wasmSecp256k1()))
    testKeys(t, library ?? wasmSecp256k1())
  })
}

function testKeys(t: Test, library: Libsecp256k1) {
  t.test('keys and signatures are those of an independent implementation', async (t) => {
    const secrets = fc.oneof(below(curveOrder - 1n), fc.constant(0n)).map((value) => word(value + 1n))
    fc.assert(
      fc.property(secrets, fc.uint8Array(hash32), fc.boolean(), (secret, hash, isCompressed) => {
        const { signature, parity } = library.sign(hash, secret)
        const signed = secp256k1.sign(hash, secret, { prehash: false, format: 'recovered' })
        const key = library.publicKey(secret, isCompressed)
        return (
          Buffer.concat([Uint8Array.of(parity), signature]).equals(signed) &&
          Buffer.from(key).equals(secp256k1.getPublicKey(secret, isCompressed))
        )
      }),
      propertyRuns(20),
    )
    t.pass('whatever the key')
  })

  t.test('numbers that are no secret keys are refused', async (t) => {
    for (const value of [0n, curveOrder, 2n ** 256n - 1n]) {
      t.throws(() => library.publicKey(word(value), true), String(value))
      t.throws(() => library.sign(word(1n), word(value)), String(value))
    }
  })
}

function testRecovery(t: Test, ecrecover: Recover) {
  t.test('a key is the one that an independent implementation recovers, or both refuse alike', async (t) => {
    fc.assert(
      fc.property(
        below(1n << 256n),
        fc.bigInt({ min: 26n, max: 30n }),
        below(curveOrder + 9n),
        below(curveOrder + 9n),
        (hash, v, r, s) => {
          const input = [word(hash), v, word(r), word(s)] as const
          return outcomeOf(ecrecover, ...input) === outcomeOf(portableEcrecover, ...input)
        },
      ),
      propertyRuns(60),
    )
    t.pass('whatever the numbers')
  })

  t.test('what was signed gives the key of whoever signed it', async (t) => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: curveOrder - 1n }), fc.uint8Array(hash32), (secret, hash) => {
        const key = word(secret)
        // r in 32 bytes, s in 32 bytes and which of the two points it was.
        const signed = secp256k1.sign(hash, key, { prehash: false, format: 'recovered' })
        const [recovery = 0] = signed
        const input = [hash, 27n + BigInt(recovery), signed.slice(1, 33), signed.slice(33)] as const
        return outcomeOf(ecrecover, ...input) === bytesToHex(secp256k1.getPublicKey(key, false).slice(1))
      }),
      propertyRuns(20),
    )
    t.pass('whatever the key')
  })

  t.test('numbers without their leading zeros are the same numbers', async (t) => {
    const hash = word(5n)
    const r = toMinimalBytes(2n)
    const s = toMinimalBytes(9n)
    t.match(outcomeOf(ecrecover, hash, 28n, r, s), /^0x[0-9a-f]{128}$/)
    t.equal(outcomeOf(ecrecover, hash, 28n, r, s), outcomeOf(ecrecover, hash, 28n, word(2n), word(9n)))
    t.equal(outcomeOf(ecrecover, hash, 28n, r, s), outcomeOf(portableEcrecover, hash, 28n, r, s))
  })

  t.test('scalars for which sums meet their own point or infinity', async (t) => {
    // R = G and the scalars equal or opposite.
    for (const s of [1n, 3n, curveOrder - 1n]) {
      for (const hash of [0n, s, curveOrder - s]) {
        for (const v of [27n, 28n]) {
          const input = [word(hash % curveOrder), v, word(generatorX), word(s)] as const
          t.equal(
            outcomeOf(ecrecover, ...input),
            outcomeOf(portableEcrecover, ...input),
            `s ${s}, hash ${hash}, v ${v}`,
          )
        }
      }
    }
  })
}
