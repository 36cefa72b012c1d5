import t from 'tap'
import { emptyAccount } from '../../../../src/data/state/account.js'
import { RememberedState } from '../../../../src/data/state/rememberedState.js'
import type { StateView } from '../../../../src/data/state/stateView.js'
import { toAddress, toHash32 } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'

const address = toAddress(new Uint8Array(20).fill(1))
const other = toAddress(new Uint8Array(20).fill(2))
const slot = toHash32(new Uint8Array(32).fill(3))
const bytes = Uint8Array.of(7)
const hash = keccak256(bytes)

/** A state with one account, one slot and one code, which counts its reads. */
function countedState() {
  const reads: string[] = []
  const noted = <T>(what: string, value: T): T => {
    reads.push(what)
    return value
  }
  const isIt = (asked: Uint8Array) => Buffer.compare(asked, address) === 0
  const state: StateView = {
    stateRoot: hash,
    account: (asked) => noted('account', isIt(asked) ? emptyAccount : undefined),
    slot: (asked) => noted('slot', isIt(asked) ? bytes : undefined),
    slotsOf: () => noted('slotsOf', [slot]),
    code: () => noted('code', bytes),
    tries: () => noted('tries', () => undefined),
    hasRows: true,
  }
  return { state, reads }
}

t.test('accounts and code are read from below once, absent ones too', async (t) => {
  const { state, reads } = countedState()
  const remembered = new RememberedState(state)
  t.equal(remembered.stateRoot, hash)
  for (let time = 0; time < 2; time++) {
    t.equal(remembered.account(address), emptyAccount)
    t.equal(remembered.account(other), undefined)
    t.equal(remembered.slot(address, slot), bytes)
    t.equal(remembered.slot(other, slot), undefined)
    t.equal(remembered.code(hash), bytes)
  }
  t.strictSame(reads, ['account', 'account', 'slot', 'slot', 'code', 'slot', 'slot'])
  t.strictSame([...remembered.slotsOf(address)], [slot])
})
