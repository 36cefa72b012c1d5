import { MerkleStateManager } from '@ethereumjs/statemanager'
import { type Account as EvmAccount, Address as EvmAddress } from '@ethereumjs/util'
import fc from 'fast-check'
import t from 'tap'
import { encodeAccount } from '../../../../src/data/state/account.js'
import { BranchState } from '../../../../src/data/state/stateView.js'
import type { BlockDiff } from '../../../../src/data/store/blockDiff.js'
import type { StateChanges } from '../../../../src/execution/evm/blocks/stateChanges.js'
import { type Address, bytesToHex, type Hash32, toHash32 } from '../../../../src/primitives/bytes.js'
import { emptyState } from '../../../library/emptyState.js'
import { JournaledState } from '../../../library/journaledState.js'
import { propertyRuns } from '../../../library/property.js'

const addresses = [0x00, 0x01, 0xff].map((byte) => new EvmAddress(new Uint8Array(20).fill(byte)))
const slots = [0x00, 0x01, 0xfe, 0xff].map((byte) => new Uint8Array(32).fill(byte))

const address = fc.constantFrom(...addresses)
const slot = fc.constantFrom(...slots)
const value = fc.oneof(
  fc.constant(new Uint8Array(0)),
  fc.constantFrom(...[1, 2, 0x7f, 0x80].map((n) => Uint8Array.of(n))),
  fc.constant(Uint8Array.of(0, 0, 5)),
  fc.uint8Array({ minLength: 32, maxLength: 32 }),
)
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('slot' as const), address, slot, value }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('balance' as const),
      address,
      wei: fc.bigInt({ min: 0n, max: 5n }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('create' as const), address }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), address }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('clear' as const), address }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('code' as const), address, size: fc.nat(2) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('checkpoint' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('commit' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('revert' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('root' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** Both states take a step; the depth of checkpoints is kept so that none is closed that was never opened. */
async function take(step: Step, state: JournaledState, reference: MerkleStateManager, depth: number) {
  switch (step.do) {
    case 'slot': {
      if ((await reference.getAccount(step.address)) === undefined) return depth
      for (const each of [state, reference]) await each.putStorage(step.address, step.slot, step.value)
      return depth
    }
    case 'balance':
      for (const each of [state, reference])
        await each.modifyAccountFields(step.address, { balance: step.wei })
      return depth
    case 'create':
      // The EVM's steps for a new contract: an account, without the data of an earlier one.
      for (const each of [state, reference]) {
        await each.modifyAccountFields(step.address, { nonce: 1n })
        await each.clearStorage(step.address)
      }
      return depth
    case 'delete':
      // The reference keeps the slots of deleted accounts in its cache, so they are cleared first.
      if ((await reference.getAccount(step.address)) !== undefined) await reference.clearStorage(step.address)
      for (const each of [state, reference]) await each.deleteAccount(step.address)
      return depth
    case 'clear':
      if ((await reference.getAccount(step.address)) === undefined) return depth
      for (const each of [state, reference]) await each.clearStorage(step.address)
      return depth
    case 'code':
      for (const each of [state, reference])
        await each.putCode(step.address, new Uint8Array(step.size).fill(0x60))
      return depth
    case 'checkpoint':
      for (const each of [state, reference]) await each.checkpoint()
      return depth + 1
    case 'commit':
      if (depth > 0) for (const each of [state, reference]) await each.commit()
      return Math.max(0, depth - 1)
    case 'revert':
      if (depth > 0) for (const each of [state, reference]) await each.revert()
      return Math.max(0, depth - 1)
    case 'root':
      await compareRoots(state, reference)
      return depth
  }
}

async function compareRoots(state: JournaledState, reference: MerkleStateManager): Promise<void> {
  const got = await state.getStateRoot()
  const want = await reference.getStateRoot()
  if (bytesToHex(got) !== bytesToHex(want))
    throw new Error(`root ${bytesToHex(got)}, not ${bytesToHex(want)}`)
}

async function compareReads(state: JournaledState, reference: MerkleStateManager): Promise<void> {
  const fields = (account: EvmAccount | undefined) =>
    account && `${account.nonce} ${account.balance} ${bytesToHex(account.codeHash)}`
  for (const address of addresses) {
    const account = await reference.getAccount(address)
    const got = fields(await state.getAccount(address))
    if (got !== fields(account)) throw new Error(`account ${address} is ${got}, not ${fields(account)}`)
    const code = bytesToHex(await state.getCode(address))
    if (code !== bytesToHex(await reference.getCode(address)))
      throw new Error(`code of ${address} is ${code}`)
    for (const slot of slots) {
      const value = bytesToHex(await state.getStorage(address, slot))
      // The reference keeps slots of removed accounts.
      const want = account === undefined ? '0x' : bytesToHex(await reference.getStorage(address, slot))
      if (value !== want) throw new Error(`slot ${bytesToHex(slot)} of ${address} is ${value}, not ${want}`)
    }
  }
}

function blockDiffOf({ accounts, slots, trie, code }: StateChanges): BlockDiff {
  return { accounts, slots, trie, code } as unknown as BlockDiff
}

t.test('any sequence of operations reads and hashes as in an independent state', async (t) => {
  const blocks = fc.array(fc.array(step, { maxLength: 40 }), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(blocks, async (blocks) => {
      const reference = new MerkleStateManager()
      let below = new BranchState(emptyState)
      for (const steps of blocks) {
        const state = new JournaledState(below)
        let depth = 0
        for (const step of steps) {
          depth = await take(step, state, reference, depth)
          await compareReads(state, reference)
        }
        for (; depth > 0; depth--) for (const each of [state, reference]) await each.commit()
        await compareRoots(state, reference)
        const changes = state.buildChanges()
        below.add(blockDiffOf(changes), changes.stateRoot)
        for (const [address, row] of changes.accounts) {
          const account = await reference.getAccount(new EvmAddress(address))
          const want = account && bytesToHex(account.serialize())
          if (bytesToHex(row) !== (want ?? '0x')) throw new Error('an account row differs from the reference')
        }
        // Once as one layer, once as a layer on a layer.
        if (steps.length % 2 === 0) below = new BranchState(below)
      }
    }),
    propertyRuns(150),
  )
  t.pass('all sequences agree')
})

t.test('changes name each key once, in ascending order, and only where something changed', async (t) => {
  const blocks = fc.array(step, { maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(blocks, blocks, async (first, second) => {
      const reference = new MerkleStateManager()
      const below = new BranchState(emptyState)
      for (const steps of [first, second]) {
        const state = new JournaledState(below)
        let depth = 0
        for (const step of steps) depth = await take(step, state, reference, depth)
        for (; depth > 0; depth--) for (const each of [state, reference]) await each.revert()
        const changes = state.buildChanges()
        for (const list of [changes.accounts, changes.slots, changes.trie, changes.code]) {
          const keys = list.map(([key]) => bytesToHex(key))
          t.strictSame(keys, [...new Set(keys)].sort())
        }
        for (const [address, row] of changes.accounts) {
          const before = below.account(address as Address)
          if (bytesToHex(row) === (before === undefined ? '0x' : bytesToHex(encodeAccount(before))))
            throw new Error('an account is listed though it is as before')
        }
        for (const [key, value] of changes.slots) {
          const before = below.slot(key.subarray(0, 20) as Address, key.subarray(20) as Hash32)
          if (bytesToHex(value) === bytesToHex(before ?? new Uint8Array(0)))
            throw new Error('a slot is listed though it is as before')
        }
        below.add(blockDiffOf(changes), changes.stateRoot)
      }
    }),
    propertyRuns(40),
  )
})

t.test('an account destructed and made anew in one block keeps nothing of its old storage', async (t) => {
  const [one] = addresses as [EvmAddress]
  const [a, b] = slots as [Uint8Array, Uint8Array]
  const below = new BranchState(emptyState)
  const first = new JournaledState(below)
  await first.modifyAccountFields(one, { balance: 1n })
  await first.putStorage(one, a, Uint8Array.of(1))
  await first.putStorage(one, b, Uint8Array.of(2))
  const made = first.buildChanges()
  below.add(blockDiffOf(made), made.stateRoot)

  const second = new JournaledState(below)
  await second.deleteAccount(one)
  t.equal(await second.getAccount(one), undefined)
  await second.modifyAccountFields(one, { nonce: 1n })
  await second.clearStorage(one)
  t.strictSame(await second.getStorage(one, a), new Uint8Array(0))
  await second.putStorage(one, b, Uint8Array.of(2))
  const { slots: changed } = second.buildChanges()
  t.strictSame(
    changed.map(([key, value]) => [bytesToHex(key.subarray(20)), bytesToHex(value)]),
    [[bytesToHex(a), '0x']],
    'the slot written again as before is no change, the other is gone',
  )
})

t.test('a slot of an address without account cannot be written', async (t) => {
  const state = new JournaledState(emptyState)
  await t.rejects(state.putStorage(addresses[0] as EvmAddress, slots[0] as Uint8Array, Uint8Array.of(1)))
  t.equal(bytesToHex(await state.getStateRoot()), bytesToHex(emptyState.stateRoot))
})

t.test('bytes that a caller changes later do not change the state', async (t) => {
  const [one] = addresses as [EvmAddress]
  const [a] = slots as [Uint8Array]
  const state = new JournaledState(emptyState)
  await state.modifyAccountFields(one, { balance: 1n })
  const value = Uint8Array.of(7)
  const key = Uint8Array.from(a)
  await state.putStorage(one, key, value)
  const code = Uint8Array.of(0x60, 0x01)
  await state.putCode(one, code)
  const root = bytesToHex(await state.getStateRoot())
  value.fill(9)
  key.fill(9)
  code.fill(9)
  t.strictSame(await state.getStorage(one, a), Uint8Array.of(7))
  t.strictSame(await state.getCode(one), Uint8Array.of(0x60, 0x01))
  t.equal(bytesToHex(await state.getStateRoot()), root)
  t.equal(toHash32(await state.getStateRoot()).length, 32)
})
