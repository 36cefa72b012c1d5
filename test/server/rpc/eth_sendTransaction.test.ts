import { JsonRpcProvider } from 'ethers'
import t from 'tap'
import { type Hex, parseEther } from 'viem'
import { frontierConfig, mergedConfig } from '../../ingest/chainMaker.js'
import { askResults, checkRefusals } from '../../rpc/questions.js'
import {
  ada,
  other,
  owner,
  startSigners,
  stranger,
  unknownElsewhere,
  unknownHere,
  walletOf,
} from '../../rpc/signers.js'
import { startService } from '../../service/service.js'

const method = 'eth_sendTransaction'
const penniless = `0x${'77'.repeat(20)}`
const transfer = { from: owner.address, to: stranger, value: '0x1' }

t.test('viem and ethers send what the node fills in and signs', async (t) => {
  const service = await startSigners(t)
  const wallet = walletOf(service, owner.address)
  for (const form of [{}, { type: 'legacy' }, { accessList: [{ address: stranger, storageKeys: [] }] }]) {
    const request = { to: stranger, value: parseEther('1'), ...form }
    const hash = await wallet.sendTransaction(request as never)
    const { status, from } = await wallet.waitForTransactionReceipt({ hash })
    t.strictSame([status, from], ['success', owner.address.toLowerCase()])
  }
  t.equal(await wallet.getBalance({ address: stranger }), parseEther('3'))
  const hash = await wallet.deployContract({
    abi: [],
    bytecode: '0x600a600c600039600a6000f3602a60005260206000f3',
  })
  const { contractAddress } = await wallet.waitForTransactionReceipt({ hash })
  t.equal(await wallet.getCode({ address: contractAddress as Hex }), '0x602a60005260206000f3')
  await t.rejects(wallet.sendTransaction({ data: '0xfe' }), /invalid opcode/, 'one that fails is not sent')

  const provider = new JsonRpcProvider(service.origin, undefined, { pollingInterval: 20, cacheTimeout: -1 })
  t.teardown(() => provider.destroy())
  const signer = await provider.getSigner(other.address)
  const receipt = await (await signer.sendTransaction({ to: stranger, value: 5 })).wait()
  t.match(receipt, { status: 1, from: other.address })
  t.equal(await service.stop(), 0)
  t.notMatch(service.said.err, /internal error|defect/)
})

t.test('many at once have a nonce each; one that is given is kept', async (t) => {
  const service = await startSigners(t)
  const count = async () =>
    Number((await askResults(service, [['eth_getTransactionCount', [owner.address, 'latest']]]))[0])
  const before = await count()
  const sent = await Promise.all(Array.from({ length: 20 }, () => service.call(method, [transfer])))
  t.equal(new Set(sent.map(({ result }) => result)).size, 20)
  t.equal(await count(), before + 20)
  const nonce = `0x${(before + 20).toString(16)}`
  const [hash] = await askResults(service, [[method, [{ ...transfer, nonce }]]])
  t.match((await askResults(service, [['eth_getTransactionByHash', [hash]]]))[0], { nonce })
  await checkRefusals(t, service, method, [
    [[{ ...transfer, from: stranger, gas: '0x5208' }], -32000, unknownHere(stranger)],
    [[{ ...transfer, from: penniless }], -32000, unknownHere(penniless)],
    [[{ to: stranger }], -32602, 'invalid argument 0: missing "from", the account that signs'],
    [[{ ...transfer, nonce: '0x0' }], -32000, `nonce too low: next nonce ${before + 21}, tx nonce 0`],
  ])
})

t.test(
  "with a block's gas a revert is the answer, and the rest has the most gas of a transaction",
  async (t) => {
    const service = await startSigners(t, { ...mergedConfig(), osakaTime: 0 })
    for (const gas of ['0x1000000', '0x1c9c380']) {
      const failed = await service.call(method, [{ from: owner.address, data: '0x5f5ffd', gas }])
      t.match(failed, { error: { code: 3, message: /^execution reverted/ } }, gas)
      const [hash] = await askResults(service, [[method, [{ ...transfer, gas }]]])
      const [sent] = await askResults(service, [['eth_getTransactionByHash', [hash]]])
      t.match(sent, { gas: '0x1000000', blockNumber: /^0x/ }, gas)
    }
    const below = await service.call(method, [{ from: owner.address, data: '0x5f5ffd', gas: '0xffffff' }])
    t.match(await service.call('eth_getTransactionReceipt', [below.result]), { result: { status: '0x0' } })
  },
)

t.test('before Osaka a transaction that needs more gas keeps what it names', async (t) => {
  const service = await startSigners(t)
  // Passes only with 20,000,000 gas.
  const data = '0x5a6301312d0010600b57fe5b5f5ff3'
  const [hash] = await askResults(service, [[method, [{ from: owner.address, data, gas: '0x1c9c380' }]]])
  t.match(await service.call('eth_getTransactionByHash', [hash]), { result: { gas: '0x1c9c380' } })
})

t.test('a legacy transaction before EIP-155 has no chain id', async (t) => {
  const service = await startSigners(t, { ...frontierConfig(), eip155Block: 1_000, eip158Block: 1_000 })
  const [hash] = await askResults(service, [[method, [transfer]]])
  const [sent, balance] = await askResults(service, [
    ['eth_getTransactionByHash', [hash]],
    ['eth_getBalance', [stranger, 'latest']],
  ])
  t.match(sent, { v: /^0x1[bc]$/, from: owner.address.toLowerCase() })
  t.equal(balance, '0x1')
})

t.test('elsewhere nothing is signed', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  await checkRefusals(t, service, method, [[[{ from: ada }], -32000, unknownElsewhere(ada)]])
})
