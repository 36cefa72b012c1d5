/** The numbers of logs in simulated blocks: logs that were undone have none, as in receipts. */
import t from 'tap'
import { Simulation } from '../../../../src/execution/evm/simulate/simulation.js'
import { assemble } from './assembly.js'
import { addressOf, demoHead, demoStore, goOn, limits } from './demoExecution.js'

const outer = addressOf(1)
const inner = addressOf(2)
const simulation = new Simulation(demoStore, limits)

interface ReportedCall {
  readonly status: string
  readonly logs: readonly { readonly logIndex: string }[]
}

/** The indices of the logs of each call, block by block; each block calls each code once. */
function indicesOf(codes: readonly Uint8Array[], blocks: number, tracesTransfers = false) {
  const target = (at: number) => addressOf(10 + at)
  const calls = codes.map((_, at) => ({
    message: { to: target(at), value: 0n, data: new Uint8Array(0), gas: 200_000n },
    chainId: undefined,
  }))
  // Logs, sends a wei, and reverts.
  const undone = assemble(0, 0, 'LOG0', 0, 0, 0, 0, 1, address(inner), 'GAS', 'CALL', 0, 0, 'REVERT')
  const stateOverrides = [
    { address: outer, code: undone, balance: 9n },
    ...codes.map((code, at) => ({ address: target(at), code, balance: 9n })),
  ]
  const block = { ...demoHead, isPending: false }
  const given = { validates: false, tracesTransfers, isFull: false, gasMax: 30_000_000n }
  const simulated = Array.from({ length: blocks }, () => ({ blockOverrides: {}, stateOverrides, calls }))
  const json = simulation.simulateJson({ block, ...given, blocks: simulated }, goOn)
  const reported = JSON.parse(Buffer.from(json).toString()) as { readonly calls: readonly ReportedCall[] }[]
  return reported.map(({ calls }) => calls.map(({ logs }) => logs.map(({ logIndex }) => Number(logIndex))))
}

const address = (bytes: Uint8Array) => Uint8Array.of(0x73, ...bytes)
const log = assemble(0, 0, 'LOG0')
const callUndone = assemble(0, 0, 0, 0, 0, address(outer), 'GAS', 'CALL', 'POP')
const createUndone = assemble(
  Uint8Array.of(0x6b, ...assemble(0, 0, 'LOG0', 0, 0, 'REVERT'), 0, 0),
  0,
  'MSTORE',
  12,
  20,
  0,
  'CREATE',
  'POP',
)
const halted = assemble(0, 0, 'LOG0', 'INVALID')
const join = (...parts: readonly Uint8Array[]) => Uint8Array.from(Buffer.concat(parts))

t.test('a log that was undone has no number', async (t) => {
  t.strictSame(indicesOf([join(callUndone, log)], 1), [[[0]]], 'of a call')
  t.strictSame(indicesOf([join(log, callUndone, log)], 1), [[[0, 1]]], 'between two')
  t.strictSame(indicesOf([join(log, createUndone, log)], 1), [[[0, 1]]], 'of a creation')
  t.strictSame(indicesOf([log, halted, log], 1), [[[0], [], [1]]], 'of a message that failed')
  t.strictSame(indicesOf([log, halted, join(callUndone, log)], 2), [
    [[0], [], [1]],
    [[0], [], [1]],
  ])
  t.strictSame(indicesOf([join(log, callUndone, log)], 1, true), [[[0, 1]]], 'transfers included')
})
