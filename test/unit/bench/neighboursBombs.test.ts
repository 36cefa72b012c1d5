import { Common, Hardfork, Mainnet } from '@ethereumjs/common'
import { createEVM } from '@ethereumjs/evm'
import { createAddressFromString } from '@ethereumjs/util'
import t from 'tap'
import { bomb, bombAddress, code, precompileBombs, precompileLoop } from '../../../bench/neighbours/bombs.js'
import { bodyBytesMax } from '../../../bench/neighbours/probes.js'
import { hexToBytes } from '../../../src/primitives/bytes.js'

const common = new Common({ chain: Mainnet, hardfork: Hardfork.Osaka })

/** Runs code with calldata in a state of its own. */
async function run(byteCode: string, data: string, gasLimit: bigint) {
  const evm = await createEVM({ common })
  const to = createAddressFromString(bombAddress)
  await evm.stateManager.putCode(to, hexToBytes(byteCode))
  const { execResult } = await evm.runCall({ to, data: hexToBytes(data), gasLimit })
  return execResult
}

for (const [name, byteCode] of Object.entries(code)) {
  t.test(`${name} takes all of its gas`, async (t) => {
    const gas = 1_000_000n
    const { exceptionError, executionGasUsed } = await run(byteCode, '0x', gas)
    // Frames that call themselves are ended by the last one's lack of gas.
    if (name !== 'memoryOfFrames') t.equal(exceptionError?.error, 'out of gas')
    t.ok(executionGasUsed > (gas * 9n) / 10n, `${executionGasUsed}`)
  })
}

for (const { name, address, data, sizeMax } of precompileBombs) {
  t.test(`${name} takes its data, and its largest fits a body`, async (t) => {
    const evm = await createEVM({ common })
    const { execResult } = await evm.runCall({
      to: createAddressFromString(`0x${address.toString(16).padStart(40, '0')}`),
      data: hexToBytes(`0x${data(2)}`),
      gasLimit: 10_000_000n,
    })
    t.equal(execResult.exceptionError, undefined)
    t.ok(execResult.returnValue.length > 0)
    t.ok(bomb(1, precompileLoop(address), data(sizeMax)).length <= bodyBytesMax)
    const looped = await run(precompileLoop(address), `0x${data(2)}`, 1_000_000n)
    t.equal(looped.exceptionError?.error, 'out of gas')
  })
}

t.test('no bomb is the same question as another', async (t) => {
  const bodies = new Set([0, 1, 2].map((n) => bomb(n, code.loop)))
  t.equal(bodies.size, 3)
})
