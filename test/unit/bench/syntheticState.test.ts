import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMPT } from '@ethereumjs/mpt'
import t from 'tap'
import {
  accountAddress,
  amountOf,
  contractAddress,
  contractOf,
  slotOf,
  writeSyntheticNetwork,
} from '../../../bench/data/syntheticState.js'
import { decodeHeader } from '../../../src/data/chain/header.js'
import { decodeAccount } from '../../../src/data/state/account.js'
import { readTrie } from '../../../src/data/state/trie.js'
import { headTries } from '../../../src/data/state/tries.js'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { bytesToHex, padLeft, toHash32 } from '../../../src/primitives/bytes.js'
import { keccak256 } from '../../../src/primitives/keccak.js'
import { encodeRlp } from '../../../src/primitives/rlp.js'

const folder = mkdtempSync(join(tmpdir(), 'tidegate-synthetic-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

/** The state root that an independent trie makes of the flat tables. */
async function independentRoot(store: ChainReader): Promise<string> {
  const state = await createMPT({ useKeyHashing: true, useRootPersistence: false })
  for (const [address, row] of store.accounts()) {
    const storage = await createMPT({ useKeyHashing: true, useRootPersistence: false })
    for (const [slot, value] of store.slotsOf(address)) await storage.put(slot, encodeRlp(value))
    t.same(decodeAccount(row).storageRoot, storage.root(), `storage root of ${bytesToHex(address)}`)
    await state.put(address, row)
  }
  return bytesToHex(state.root())
}

t.test('the state root of a synthetic network is that of its accounts and slots', async (t) => {
  const path = join(folder, 'small/chain.mdb')
  const size = { accounts: 300, slotsPerAccount: 3, slots: 2_500 }
  await writeSyntheticNetwork(path, size, 300)
  const store = ChainReader.open({ path })
  t.teardown(() => store.close())
  const head = store.readHead()
  const { number, stateRoot } = decodeHeader(store.readHeader(head?.hash as never) as Uint8Array)
  t.ok(number > 5, 'several blocks made it')
  t.equal(bytesToHex(stateRoot), await independentRoot(store))
  t.equal([...store.accounts()].length, size.accounts + 1_000)

  const tries = headTries(store)
  for (let index = 0; index < size.accounts; index += 17) {
    const address = accountAddress(index)
    const row = readTrie(stateRoot, keccak256(address), tries())
    const { storageRoot } = decodeAccount(row as Uint8Array)
    for (let slot = 0; slot < size.slotsPerAccount; slot++) {
      const key = toHash32(padLeft(Uint8Array.of(slot), 32))
      t.ok(
        readTrie(storageRoot, keccak256(key), tries(address)),
        `slot ${slot} of account ${index} is in its trie`,
      )
    }
  }
  for (let index = 0; index < size.slots; index += 31) {
    const slot = toHash32(slotOf(index))
    t.same(store.readSlot(contractAddress(contractOf(index)), slot), amountOf(index), `slot ${index}`)
  }
})

t.test('the same size gives the same network however it is cut into blocks', async (t) => {
  const roots: string[] = []
  for (const keysPerBlock of [50, 10_000]) {
    const path = join(folder, `cut-${keysPerBlock}/chain.mdb`)
    await writeSyntheticNetwork(path, { accounts: 120, slotsPerAccount: 1, slots: 80 }, keysPerBlock)
    const store = ChainReader.open({ path })
    const head = store.readHead()
    roots.push(bytesToHex(decodeHeader(store.readHeader(head?.hash as never) as Uint8Array).stateRoot))
    await store.close()
  }
  t.equal(roots[0], roots[1])
})
