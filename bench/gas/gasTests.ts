/**
 * What `gas` runs: the state tests of `micro.ndjson.gz`, our own for what these lack, and the blockchain tests of
 * `eest.tar.gz`. Owns reading them; they are not part of the repository.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { bytesToHex, concatBytes, hexToBytes } from '../../src/primitives/bytes.js'
import type { JsonPost, JsonStateTest } from '../../test/stateTests/stateTest.js'

export interface GasTest {
  readonly name: string
  readonly test: JsonStateTest
  readonly fork: string
  readonly post: JsonPost
  readonly gas: number
  /** CPU time of go-ethereum on the machine of the recording; undefined for our own. */
  readonly gethMicros: number | undefined
}

interface RecordedPost extends JsonPost {
  readonly gasUsed: string
  readonly geth: number
}

/** Whether a test of this name calls a precompiled contract, the identity apart, which is no computation. */
export function isOfPrecompile(name: string): boolean {
  return /^(?:bls|bn|blake2f|ecrecover|modexp|p256|ripemd|sha256)/.test(name)
}

/** Those of `micro.ndjson.gz` in `folder`, and our own. */
export function gasTests(folder: string): GasTest[] {
  const lines = gunzipSync(readFileSync(join(folder, 'micro.ndjson.gz')))
    .toString()
    .trim()
    .split('\n')
  return [
    ...lines.flatMap((line) => {
      const { name, test } = JSON.parse(line) as { name: string; test: JsonStateTest }
      return Object.entries(test.post).flatMap(([fork, posts]) =>
        (posts as readonly RecordedPost[]).map((post) => {
          const { gasUsed, geth } = post
          const gas = Number(gasUsed)
          return { name, test: { ...test, _info: { gasUsed } }, fork, post, gas, gethMicros: geth * 1e6 }
        }),
      )
    }),
    ...ownTests(),
  ]
}

const contract = '0x1000000000000000000000000000000000000001'
const sender = '0x3000000000000000000000000000000000000003'

/** A transaction with all its gas to code that calls a precompiled contract with `input`, again and again. */
function loopTest(name: string, fork: string, number: number, input: Uint8Array): GasTest {
  const gas = 2_000_000
  const hex = (value: number, bytes: number) => value.toString(16).padStart(2 * bytes, '0')
  const calls = `61${hex(0, 2)}5f62${hex(input.length, 3)}5f61${hex(number, 2)}5afa50`.repeat(16)
  // CODECOPY of the input, JUMPDEST at 12, the calls, JUMP.
  const length = 13 + calls.length / 2 + 5
  const copy = `62${hex(input.length, 3)}62${hex(length, 3)}5f39`
  const code = `0x5f50${copy}5b${calls}62${hex(12, 3)}56${bytesToHex(input).slice(2)}`
  const gasLimit = `0x${gas.toString(16)}`
  const post = { hash: '', logs: '', indexes: { data: 0, gas: 0, value: 0 } }
  const test: JsonStateTest = {
    _info: { gasUsed: gasLimit },
    env: {
      ...{ currentBaseFee: '0x7', currentCoinbase: `0x40${'00'.repeat(18)}04`, currentDifficulty: '0x0' },
      ...{ currentExcessBlobGas: '0x0', currentGasLimit: '0x5f5e100', currentNumber: '0x100' },
      ...{ currentRandom: '0x00', currentTimestamp: '0x3e8' },
    },
    pre: {
      [contract]: { balance: '0x0', code, nonce: '0x1', storage: {} },
      [sender]: { balance: '0xffffffffffffff', code: '0x', nonce: '0x0', storage: {} },
    },
    transaction: {
      ...{ data: ['0x'], gasLimit: [gasLimit], gasPrice: '0xa', nonce: '0x0', value: ['0x0'] },
      ...{ sender, to: contract },
    },
    post: { [fork]: [post] },
  }
  return { name, test, fork, post, gas, gethMicros: undefined }
}

/** Operands of ones, but for the last bits of the modulus. */
function modexpInput(base: number, exponent: number, modulus: number, last: number): Uint8Array {
  const lengths = [base, exponent, modulus].map((length) => hexToBytes(length.toString(16).padStart(64, '0')))
  const operands = new Uint8Array(base + exponent + modulus).fill(255)
  operands[operands.length - 1] = last
  return concatBytes(...lengths, operands)
}

/** Sizes and forms of modexp that the recorded ones lack. */
function ownTests(): GasTest[] {
  return [
    [64, 64, 64, 254, 'Prague'],
    [64, 64, 64, 254, 'Osaka'],
    [192, 3, 192, 255, 'Prague'],
    [192, 3, 192, 255, 'Osaka'],
    [16, 400, 16, 255, 'Prague'],
    [16, 400, 16, 254, 'Osaka'],
    [33, 33, 33, 240, 'Osaka'],
    [2048, 1, 2048, 255, 'Prague'],
    [1024, 1, 32, 255, 'Osaka'],
  ].map(([base, exponent, modulus, last, fork]) => {
    const form = (last as number) % 2 === 0 ? 'even' : 'odd'
    const input = modexpInput(base as number, exponent as number, modulus as number, last as number)
    return loopTest(`modexp_${base}_${exponent}_${modulus}${form}_${fork}`, fork as string, 5, input)
  })
}
