/** Every write into the kernel's memory: a value that does not fit its place is refused, and writes nothing. */
import t from 'tap'
import { emptyAccount } from '../../../../src/data/state/account.js'
import type { StateView } from '../../../../src/data/state/stateView.js'
import { Kernel } from '../../../../src/execution/evm/engine/kernel.js'
import { KernelMemory } from '../../../../src/execution/evm/engine/kernelMemory.js'
import { type Hash32, toHash32 } from '../../../../src/primitives/bytes.js'
import { emptyState } from '../../../library/emptyState.js'

const lengths = [0, 1, 19, 20, 21, 31, 32, 33, 40, 64, 100_000]
const bytesOf = (length: number) => new Uint8Array(length).fill(0xee)
const misfit = { name: 'RangeError', message: /does not fit/ }
const wrongNumbers = [-1n, 2n ** 256n, 2n ** 300n, -(2n ** 255n)]

t.test('a write of the wrong length throws and changes nothing', (t) => {
  const buffer = new ArrayBuffer(2 ** 18)
  const memory = new KernelMemory({ buffer })
  const before = () => memory.bytes.fill(0x11)
  const unchanged = () => memory.bytes.every((byte) => byte === 0x11)
  for (const place of [20, 32]) {
    for (const length of lengths.filter((each) => each !== place)) {
      before()
      t.throws(() => memory.put(64, bytesOf(length), place), misfit)
      t.throws(() => memory.putReversed(64, bytesOf(length), place), misfit)
      t.ok(unchanged(), `${length} bytes into ${place}`)
    }
  }
  for (const length of lengths.filter((each) => each > 32)) {
    before()
    t.throws(() => memory.putRight(64, bytesOf(length)), misfit)
    t.ok(unchanged(), `${length} bytes into a number`)
  }
  for (const value of wrongNumbers) {
    before()
    t.throws(() => memory.putWord(64, value), misfit)
    t.throws(() => memory.putNumber(64, value), misfit)
    t.ok(unchanged(), `${value}`)
  }
  before()
  memory.put(64, bytesOf(20), 20)
  memory.putReversed(128, bytesOf(20), 20)
  memory.putRight(256, Uint8Array.of(7))
  t.equal(memory.wordAt(128), BigInt(`0x${'ee'.repeat(20)}`))
  t.strictSame(memory.slice(256, 32), new Uint8Array(32).fill(7, 31))
  const written = memory.bytes.filter((byte) => byte !== 0x11).length
  t.equal(written, 20 + 32 + 32, 'and a write that fits only its place')
  t.end()
})

const contract = bytesOf(20)
const right: StateView = {
  ...emptyState,
  account: () => ({ ...emptyAccount, nonce: 1n, balance: 5n }),
  slot: () => Uint8Array.of(9),
}

function kernelOver(state: Partial<StateView>): Kernel {
  const kernel = new Kernel()
  kernel.attach('osaka', {
    state: { ...right, ...state },
    ancestorHash: () => bytesOf(31) as Hash32,
    watch: undefined,
  })
  kernel.begin(new Uint8Array(20), 0n, [])
  return kernel
}

t.test('whatever has the wrong length is refused by each function of the kernel', (t) => {
  const kernel = kernelOver({})
  const account = kernel.account(contract)
  const word = bytesOf(32)
  const block = { timestamp: 0n, number: 0n, random: 0n, gasLimit: 0n, chainId: 1n, baseFee: 0n }
  const rest = { ...block, blobBaseFee: 0n, slotNumber: 0n }
  const writes: readonly [name: string, length: number, write: (bytes: Uint8Array) => unknown][] = [
    ['account', 20, (bytes) => kernel.account(bytes)],
    ['slotOf', 32, (bytes) => kernel.slotOf(account, bytes)],
    ['warmSlot', 32, (bytes) => kernel.warmSlot(account, bytes)],
    ['setSlot, key', 32, (bytes) => kernel.setSlot(account, bytes, word)],
    ['setSlot, value', 32, (bytes) => kernel.setSlot(account, word, bytes)],
    ['begin, origin', 20, (bytes) => kernel.begin(bytes, 0n, [])],
    ['begin, blob hash', 32, (bytes) => kernel.begin(contract, 0n, [bytes])],
    ['setBlock', 20, (bytes) => kernel.setBlock({ ...rest, coinbase: bytes })],
  ]
  for (const [name, fits, write] of writes) {
    for (const length of lengths) {
      if (length === fits) t.doesNotThrow(() => write(bytesOf(length)), name)
      else t.throws(() => write(bytesOf(length)), misfit, `${name} of ${length} bytes`)
    }
  }
  for (const value of wrongNumbers) {
    t.throws(() => kernel.credit(account, value), misfit)
    t.throws(() => kernel.debit(account, value), misfit)
    t.throws(() => kernel.setBalance(account, value), misfit)
    t.throws(() => kernel.begin(contract, value, []), misfit)
    t.throws(() => kernel.run(account, account, 0n, value, bytesOf(1), 21_000n), misfit)
  }
  kernel.begin(contract, 0n, [])
  t.equal(kernel.balanceOf(kernel.account(bytesOf(20))), 5n, 'and the kernel answers as before')
  t.end()
})

t.test('so is a wrong answer of the state', (t) => {
  const wrong: readonly [name: string, state: Partial<StateView>, work: (kernel: Kernel) => unknown][] = [
    [
      'a hash of code',
      { account: () => ({ ...emptyAccount, codeHash: bytesOf(33) as Hash32 }) },
      (kernel) => kernel.account(contract),
    ],
    [
      'a balance',
      { account: () => ({ ...emptyAccount, balance: 2n ** 256n }) },
      (kernel) => kernel.account(contract),
    ],
    [
      'a slot',
      { slot: () => bytesOf(33) },
      (kernel) => kernel.slotOf(kernel.account(contract), toHash32(bytesOf(32))),
    ],
  ]
  for (const [name, state, work] of wrong) t.throws(() => work(kernelOver(state)), misfit, name)
  t.end()
})
