/** Messages that would take too much time or memory. */
import t from 'tap'
import { Execution } from '../../../../src/execution/evm/messages/execution.js'
import { concatBytes, hexToBytes, padLeft } from '../../../../src/primitives/bytes.js'
import { assemble } from './assembly.js'
import {
  addressOf,
  contract,
  demoExecution,
  demoStore,
  faultOf,
  goOn,
  limits,
  requestOf,
} from './demoExecution.js'

t.test('an endless loop ends with the time, however small it is', async (t) => {
  const execution = new Execution(demoStore, { ...limits, timeMsMax: 50 })
  const loops: readonly string[] = [
    '5b5f56',
    '5b600056',
    // A loop that calls itself, one that creates, one that hashes a megabyte a time.
    '5b5f5f5f5f5f305af1505f56',
    '5b5f5f5ff0505f56',
    '5b620fffff5f20505f56',
  ]
  for (const code of loops) {
    for (const kind of ['call', 'estimate', 'accessList'] as const) {
      const overrides = [{ address: contract, code: hexToBytes(code) }]
      const request = requestOf({ to: contract, gas: 10n ** 12n }, overrides, { gasMax: 10n ** 12n })
      // Since Osaka an estimate is bounded by the gas of a transaction; an earlier block is not.
      const early = { ...request, blockOverrides: { number: 200n, time: 1_735_692_000n } }
      const fault = await faultOf(execution[kind](early, goOn))
      t.same(fault, { kind: 'ExecutionTimedOut', limitSeconds: 0.05 }, `${code} ${kind}`)
    }
  }
})

t.test('a job that is told to stop stops', async (t) => {
  let asked = 0
  const loop = requestOf({ to: contract }, [{ address: contract, code: hexToBytes('5b5f56') }])
  t.match(await faultOf(demoExecution.call(loop, () => ++asked > 3)), { kind: 'ExecutionTimedOut' })
})

t.test('a precompiled contract that takes longer than the job may is ended', async (t) => {
  const execution = new Execution(demoStore, { ...limits, timeMsMax: 50 })
  const blake = padLeft(Uint8Array.of(9), 20)
  const data = new Uint8Array(213)
  data.set([0xff, 0xff, 0xff, 0xff])
  const request = requestOf({ to: blake, data, gas: 10n ** 10n }, [], { gasMax: 10n ** 10n })
  // Four billion rounds take some minutes.
  t.same(await faultOf(execution.call(request, goOn)), { kind: 'ExecutionTimedOut', limitSeconds: 0.05 })
})

t.test('a job that holds too much memory is stopped', async (t) => {
  const execution = new Execution(demoStore, { timeMsMax: 20_000, memoryBytesMax: 2 ** 22 })
  const bombs: readonly [what: string, code: Uint8Array][] = [
    ['memory of nested frames', assemble(1, 100_000, 'MSTORE', 0, 0, 0, 0, 0, 'ADDRESS', 'GAS', 'CALL')],
    ['logs', assemble('JUMPDEST', 100_000, 0, 'LOG0', 0, 'JUMP')],
    ['transient slots', assemble('JUMPDEST', 1, 'GAS', 'TSTORE', 0, 'JUMP')],
    ['slots', assemble('JUMPDEST', 1, 'GAS', 'SSTORE', 0, 'JUMP')],
  ]
  for (const [what, code] of bombs) {
    const request = requestOf({ to: contract, gas: 10n ** 10n }, [{ address: contract, code }], {
      gasMax: 10n ** 10n,
    })
    t.same(
      await faultOf(execution.call(request, goOn)),
      { kind: 'ExecutionOutOfMemory', limitBytes: 2 ** 22 },
      what,
    )
    t.match(
      await execution.call(requestOf({ to: addressOf(4) }), goOn),
      { failure: undefined },
      'and the next runs',
    )
  }
})

t.test('memory of 4 GiB and more is too much, whatever gas there is', async (t) => {
  const gas = 10n ** 15n
  const farther: readonly [what: string, code: Uint8Array][] = [
    ['the last word', assemble(1, 2 ** 32 - 32, 'MSTORE', 'STOP')],
    ['the next', assemble(1, 2 ** 32, 'MSTORE', 'STOP')],
    ['a byte', assemble(1, 2 ** 32 + 5, 'MSTORE8', 'STOP')],
    ['a copy', assemble(32, 0, 2 ** 33, 'CODECOPY', 'STOP')],
    ['what is returned', assemble(32, 2 ** 32, 'RETURN')],
    ['a long piece', assemble(2 ** 32 + 1, 0, 'RETURN')],
    ['what a call returns', assemble(32, 2 ** 32, 0, 0, 0, 'ADDRESS', 1, 'CALL', 'STOP')],
  ]
  for (const [what, code] of farther) {
    const request = requestOf({ to: contract, gas }, [{ address: contract, code }], { gasMax: gas })
    t.match(await faultOf(demoExecution.call(request, goOn)), { kind: 'ExecutionOutOfMemory' }, what)
  }
})

t.test('the same code is analysed once, however deep it calls itself', async (t) => {
  // 24 KB of PUSH1 behind a call of itself: 1,024 analyses would take 200 MB and seconds.
  const self = assemble(0, 0, 0, 0, 0, 'ADDRESS', 'GAS', 'CALL')
  const code = concatBytes(self, new Uint8Array(24_000).fill(0x60))
  const before = process.memoryUsage().rss
  await demoExecution.call(
    requestOf({ to: contract, gas: 10n ** 9n }, [{ address: contract, code }], { gasMax: 10n ** 9n }),
    goOn,
  )
  t.ok(process.memoryUsage().rss - before < 150 * 2 ** 20)
})
