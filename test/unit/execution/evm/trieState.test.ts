/** State beside the canonical chain, read from the tries alone. */
import t from 'tap'
import { historicalState } from '../../../../src/data/state/stateView.js'
import { trieState } from '../../../../src/data/state/trieState.js'
import { hashedTries, triesAfter } from '../../../../src/data/state/tries.js'
import type { CallMessage } from '../../../../src/execution/evm/messages/executionRequest.js'
import { bytesToBigInt, toAddress } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import {
  contract,
  demoExecution,
  demoHead,
  demoHeader,
  demoStore,
  goOn,
  requestOf,
  topOf,
} from './demoExecution.js'

const tries = triesAfter(demoStore, demoHead)

t.test('off the canonical chain the tries say what the tables say on it', async (t) => {
  const onTries = trieState(demoStore, demoHeader.stateRoot, demoHead.hash, tries)
  const onTables = historicalState(demoStore, demoHeader.number, demoHeader.stateRoot)
  for (const [address] of demoStore.accounts()) {
    t.same(onTries.account(address), onTables.account(address))
    for (const [slot] of demoStore.slotsOf(address)) {
      t.same(onTries.slot(address, slot), onTables.slot(address, slot))
    }
  }
  // A number that its hash does not have: as after a reorganisation.
  const message: CallMessage = { to: contract, value: 0n, data: new Uint8Array(0) }
  const code = topOf('NUMBER')
  const request = requestOf(message, [{ address: contract, code }], {
    block: { number: 5, hash: demoHead.hash, isPending: false },
  })
  const { returnData } = await demoExecution.call(request, goOn)
  t.equal(bytesToBigInt(returnData), BigInt(demoHeader.number))
})

t.test('a state that is not held is told so, and what of it was asked for', async (t) => {
  const missing = trieState(
    demoStore,
    keccak256(Uint8Array.of(1)),
    demoHead.hash,
    hashedTries(() => undefined),
  )
  try {
    missing.account(toAddress(contract))
    t.fail('found')
  } catch (error) {
    const wanted = { kind: 'state', block: demoHead.hash, address: toAddress(contract), slots: [] }
    t.match(error, { name: 'NotStoredError', wanted })
  }
})
