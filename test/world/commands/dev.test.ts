// @scene a developer chain without files
/** `tidegate dev`: a funded developer chain by one command. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createWalletClient, http, parseEther } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { makeFolder } from '../../library/folder.js'
import { startDev } from '../../service/developerChain.js'
import { runHere } from '../../service/program.js'

const mnemonic = 'test test test test test test test test test test test junk'
const accountAt = (addressIndex: number) => mnemonicToAccount(mnemonic, { addressIndex })
const to = `0x${'57'.repeat(20)}` as const

t.test('it serves a chain of now with ten funded accounts, and leaves no files', async (t) => {
  const folder = makeFolder(t)
  const before = Math.floor(Date.now() / 1_000)
  const { url, ask, stop, said } = await startDev(t, [], { TMPDIR: folder })
  const accounts = Array.from({ length: 10 }, (_, at) => accountAt(at).address)
  for (const address of accounts) t.match(said.out, `${address} (10000 ETH)`)
  t.match(said.out, /0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80/)
  t.strictSame(
    (await ask('eth_accounts')).result,
    accounts.map((address) => address.toLowerCase()),
  )
  t.equal((await ask('eth_chainId')).result, '0x7a69')
  for (const address of accounts)
    t.equal(BigInt((await ask('eth_getBalance', address, 'latest')).result), parseEther('10000'))
  const genesis = (await ask('eth_getBlockByNumber', 'latest', false)).result
  t.equal(genesis.number, '0x0')
  t.ok(Number(genesis.timestamp) >= before && Number(genesis.timestamp) <= Math.floor(Date.now() / 1_000))
  const wallet = createWalletClient({ account: accountAt(3), chain: foundry, transport: http(url) })
  const hash = await wallet.sendTransaction({ to, value: 5n })
  t.match((await ask('eth_getTransactionReceipt', hash)).result, { status: '0x1', blockNumber: '0x1' })
  t.equal((await ask('eth_getBalance', to, 'latest')).result, '0x5')
  t.equal(readdirSync(folder).length, 1)
  t.equal(await stop(), 0)
  t.strictSame(readdirSync(folder), [])
})

t.test('flags set the chain, its accounts and its pace; a folder keeps it', async (t) => {
  const data = join(makeFolder(t), 'chain')
  const flags = ['--chain-id', '1337', '--accounts', '12', '--balance', '3']
  const first = await startDev(t, ['--data', data, ...flags, '--no-mining'])
  t.equal((await first.ask('eth_chainId')).result, '0x539')
  const accounts: string[] = (await first.ask('eth_accounts')).result
  t.equal(accounts.length, 12)
  t.equal(accounts[11], accountAt(11).address.toLowerCase())
  t.equal(BigInt((await first.ask('eth_getBalance', accounts[11], 'latest')).result), parseEther('3'))
  await first.ask('eth_sendTransaction', { from: accounts[11], to, value: '0x5' })
  t.equal((await first.ask('eth_blockNumber')).result, '0x0')
  await first.ask('evm_mine')
  t.equal((await first.ask('eth_getBalance', to, 'latest')).result, '0x5')
  t.equal(await first.stop(), 0)

  t.match(await runHere(['dev', '--data', data, '--accounts', '11']), {
    status: 2,
    err: /was begun with --accounts 12; leave --accounts out, or name another folder/,
  })
  const again = await startDev(t, ['--data', data, '--block-time', '3600'])
  t.equal((await again.ask('eth_chainId')).result, '0x539')
  t.equal((await again.ask('eth_blockNumber')).result, '0x1')
  t.equal((await again.ask('eth_accounts')).result.length, 12)
  t.equal((await again.ask('evm_getAutomine')).result, false)
  t.equal(await again.stop(), 0)
})

t.test('flags that contradict each other are refused', async (t) => {
  t.match(await runHere(['dev', '--block-time', '2', '--no-mining']), {
    status: 2,
    err: /--block-time and --no-mining exclude each other/,
  })
  t.match(await runHere(['dev', '--accounts', '1001']), {
    status: 2,
    err: /--accounts: expected an integer from 1 to 1000/,
  })
})
