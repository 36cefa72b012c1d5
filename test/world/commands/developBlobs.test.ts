import t from 'tap'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { mergedConfig, testGenesis, testKeys } from '../../ingest/chainMaker.js'
import { withCellProofs, zeroSidecar, zeroVersionedHash } from '../../library/blobTransaction.js'
import { startDeveloper } from '../../service/developerChain.js'

const account = privateKeyToAccount(bytesToHex(testKeys[0] as Uint8Array))

t.test('a transaction waits until its blobs can be paid, and one with too many is refused', async (t) => {
  // The blob gas is far above the target, so that the price of blobs falls with each empty block.
  const parameters = { target: 1, max: 2, baseFeeUpdateFraction: 3_338_477 }
  const config = { ...mergedConfig(), blobSchedule: { cancun: parameters, prague: parameters } }
  const genesis = testGenesis(config, { excessBlobGas: '0x2000000', blobGasUsed: '0x0' })
  const { service } = await startDeveloper(t, { genesis, blockSeconds: 3_600 })
  const ask = async (method: string, ...params: unknown[]) => service.call(method, params)
  const chainId = Number((await ask('eth_chainId')).result)
  const sign = (blobs: number, maxFeePerBlobGas: bigint, named: Hex = zeroVersionedHash): Promise<Hex> =>
    account.signTransaction({
      type: 'eip4844',
      chainId,
      nonce: 0,
      to: account.address,
      gas: 21_000n,
      maxFeePerGas: 10n ** 10n,
      maxPriorityFeePerGas: 1n,
      maxFeePerBlobGas,
      blobVersionedHashes: Array<Hex>(blobs).fill(named),
      sidecars: Array(blobs).fill(zeroSidecar),
    })
  const { error } = await ask('eth_sendRawTransaction', await sign(3, 10n ** 9n))
  t.match(error, { message: 'too many blobs in transaction: have 3, permitted 2' })

  const other = await ask('eth_sendRawTransaction', await sign(1, 10n ** 9n, `0x01${'11'.repeat(31)}`))
  t.match(other.error, { message: /^blob 0: computed hash 0x010657f3.* mismatches transaction one 0x0111/ })

  const price = BigInt((await ask('eth_blobBaseFee')).result)
  const { result: sent } = await ask('eth_sendRawTransaction', await sign(1, price / 2n))
  await ask('evm_mine')
  t.match((await ask('eth_getTransactionByHash', sent)).result, { hash: sent, blockNumber: null })
  await ask('evm_mine', { blocks: 20 })
  t.match((await ask('eth_getTransactionReceipt', sent)).result, { status: '0x1', type: '0x3' })
  t.notMatch(service.said.err, /is dropped/)
})

t.test('blobs come with proofs of blobs or of cells, before Osaka and from it on', async (t) => {
  for (const [fork, more] of [
    ['Prague', {}],
    ['Osaka', { osakaTime: 0 }],
  ] as const) {
    const { service } = await startDeveloper(t, { genesis: testGenesis({ ...mergedConfig(), ...more }) })
    const chainId = Number((await service.call('eth_chainId')).result)
    for (const nonce of [0, 1]) {
      const raw = await account.signTransaction({
        type: 'eip4844',
        chainId,
        nonce,
        to: account.address,
        gas: 21_000n,
        maxFeePerGas: 10n ** 10n,
        maxPriorityFeePerGas: 1n,
        maxFeePerBlobGas: 10n ** 9n,
        blobVersionedHashes: [zeroVersionedHash],
        sidecars: [zeroSidecar],
      })
      const sent = nonce === 0 ? raw : withCellProofs(raw)
      const { result, error } = await service.call('eth_sendRawTransaction', [sent])
      t.equal(error, undefined, `${fork}, version ${nonce}`)
      const { result: receipt } = await service.call('eth_getTransactionReceipt', [result])
      t.match(receipt, { status: '0x1', type: '0x3' }, `${fork}, version ${nonce}`)
    }
  }
})

t.test('a transaction whose block leaves the chain waits again with its blobs', async (t) => {
  const { service } = await startDeveloper(t, { genesis: testGenesis(mergedConfig()) })
  const chainId = Number((await service.call('eth_chainId')).result)
  const raw = await account.signTransaction({
    type: 'eip4844',
    chainId,
    nonce: 0,
    to: account.address,
    gas: 21_000n,
    maxFeePerGas: 10n ** 10n,
    maxPriorityFeePerGas: 1n,
    maxFeePerBlobGas: 10n ** 9n,
    blobVersionedHashes: [zeroVersionedHash],
    sidecars: [zeroSidecar],
  })
  const { result: sent } = await service.call('eth_sendRawTransaction', [raw])
  await service.call('evm_setAutomine', [false])
  for (const last of [2, 3]) {
    await service.call('anvil_reorg', [1, []])
    t.match((await service.call('eth_getTransactionByHash', [sent])).result, { blockNumber: null })
    await service.call('evm_mine')
    const { result: receipt } = await service.call('eth_getTransactionReceipt', [sent])
    t.match(receipt, { status: '0x1', type: '0x3', blockNumber: `0x${last}` })
  }
})
