/** Estimates by rules under which a call that asks for more gas than there is fails (before EIP-150). */
import t from 'tap'
import { Execution } from '../../../../src/execution/evm/messages/execution.js'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.js'
import { frontierConfig, testGenesis } from '../../../ingest/chainMaker.js'
import { newStore } from '../../sources/feed/blockDiffs.js'
import { addressOf, goOn, limits, requestOf, succeedsWith } from './demoExecution.js'

const to = addressOf(1)
const inner = addressOf(2)
/** CALL of `inner` with the gas that an instruction pushes, and its result on the stack. */
const callWith = (push: string) => `0x${'6000'.repeat(5)}73${bytesToHex(inner).slice(2)}${push}f100`

const programs = [
  ['a call with 20,000 gas', callWith('614e20')],
  // The last byte of the operand is that of the instruction GAS.
  ['a call with 20,058 gas', callWith('614e5a')],
  ['a call with 99,930 gas', callWith('6201865a')],
  ['an empty contract is made', '0x600060006000f05000'],
] as const

for (const [fork, more] of [
  ['frontier', {}],
  ['homestead', { homesteadBlock: 0 }],
] as const) {
  t.test(`the least gas with which a message succeeds, ${fork}`, async (t) => {
    const { store } = newStore(t, JSON.stringify(testGenesis({ ...frontierConfig(), ...more })))
    const execution = new Execution(store, limits)
    const block = { ...store.head, isPending: false }
    for (const [what, code] of programs) {
      const overrides = [
        { address: to, code: hexToBytes(code) },
        { address: inner, code: hexToBytes('0x600150600050') },
      ]
      const request = requestOf({ to, gas: 1_000_000n }, overrides, { block })
      const { gas } = await execution.estimate(request, goOn)
      t.ok(await succeedsWith(execution, request, gas), `${what}: ${gas}`)
      t.notOk(await succeedsWith(execution, request, gas - 1n), `${what}: less than ${gas}`)
    }
  })
}
