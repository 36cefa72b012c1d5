/** The accounts with which a developer chain begins, and its genesis, compared with other software. */
import t from 'tap'
import { mnemonicToAccount } from 'viem/accounts'
import { bytesToHex } from '../../../../src/primitives/bytes.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { developGenesis } from '../../../../src/sources/ingest/develop/developGenesis.js'
import { addressOfKey, knownKeys, knownMnemonic } from '../../../../src/sources/ingest/develop/knownKeys.js'

t.test('keys are those that wallets derive from the mnemonic', async (t) => {
  const keys = knownKeys(25)
  t.equal(keys.length, 25)
  for (const [addressIndex, key] of keys.entries()) {
    const account = mnemonicToAccount(knownMnemonic, { addressIndex })
    t.equal(bytesToHex(addressOfKey(key)), account.address.toLowerCase())
    t.equal(bytesToHex(key), bytesToHex(account.getHdKey().privateKey as Uint8Array))
  }
})

t.test('the genesis has all forks from block 0, and the accounts', async (t) => {
  const addresses = knownKeys(2).map(addressOfKey)
  const { schedule, identity } = parseGenesis(developGenesis({ chainId: 99, addresses, balance: 7 }))
  t.equal(identity.chainId, '99')
  t.equal(schedule.forkAt(0, 1_700_000_000, true), schedule.forkAt(1, 4_000_000_000, true))
  const { alloc } = JSON.parse(developGenesis({ chainId: 99, addresses, balance: 7 }))
  for (const address of addresses) t.equal(BigInt(alloc[bytesToHex(address)].balance), 7n * 10n ** 18n)
})
