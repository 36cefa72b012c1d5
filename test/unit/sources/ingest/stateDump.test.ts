/** Dumps of a state: their content and their limits. */
import { join } from 'node:path'
import t from 'tap'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { bytesToHex } from '../../../../src/primitives/bytes.js'
import type { FaultError } from '../../../../src/primitives/faults.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { developGenesis } from '../../../../src/sources/ingest/develop/developGenesis.js'
import { dumpState, parseDump } from '../../../../src/sources/ingest/develop/stateDump.js'

const address = new Uint8Array(20).fill(7)
const genesis = parseGenesis(developGenesis({ chainId: 1, addresses: [address], balance: 3 }))

function refusalOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    return JSON.stringify((error as FaultError).fault)
  }
  return 'nothing is refused'
}

t.test('a dump has each account with its code and slots, and is refused above its bound', async (t) => {
  const store = ChainWriter.openForWriting({ path: join(t.testdir(), 'chain.mdb'), mapBytes: 2 ** 26 })
  store.initialize(genesis.identity, genesis.blockDiff)
  const accounts = parseDump(dumpState(store))
  t.equal(accounts.length, genesis.blockDiff.accounts.length)
  const own = accounts.find((account) => bytesToHex(account.address) === bytesToHex(address))
  t.match(own, { nonce: 0n, balance: 3n * 10n ** 18n, slots: [] })
  t.equal(own?.code?.length, 0)
  const slots = accounts.reduce((sum, account) => sum + (account.slots?.length ?? 0), 0)
  t.equal(slots, genesis.blockDiff.slots.length)
  const coded = accounts.filter(({ code }) => code !== undefined && code.length > 0)
  t.equal(coded.length, 5)
  t.match(
    refusalOf(() => dumpState(store, undefined, 1_000)),
    /the state has more than 1000 bytes as JSON/,
  )
  const dump = dumpState(store)
  t.match(
    refusalOf(() => parseDump(dump, undefined, 1_000)),
    /it has more than 1000 bytes/,
  )
  await store.close()
})
