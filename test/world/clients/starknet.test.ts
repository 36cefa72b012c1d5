// @shares
/** The first calls of users of starknet.js that a rollup network answers. */
import { Account, RpcProvider } from 'starknet'
import t from 'tap'
import { startRollup } from '../../rollup/rollupService.js'
import { startSequencer } from '../../rollup/sequencer.js'

const sequencer = await startSequencer(t)
const service = await startRollup(t, {
  prefix: 'starknet',
  upstream: { url: sequencer.origin, prefix: 'starknet' },
})
const provider = new RpcProvider({ nodeUrl: service.url })
const address = '0x71de'
const bound = { max_amount: 1_000n, max_price_per_unit: 20n }
const resourceBounds = { l1_gas: bound, l2_gas: bound, l1_data_gas: bound }

t.test('an account executes without being told its nonce', async (t) => {
  const account = new Account({ provider, address, signer: '0x1234', cairoVersion: '1' })
  for (const nonce of ['0x0', '0x1']) {
    t.equal(await account.getNonce(), nonce)
    const call = { contractAddress: '0x55', entrypoint: 'transfer', calldata: ['1', '2'] }
    const { transaction_hash } = await account.execute(call, { resourceBounds, tip: 0n })
    t.match(await provider.getTransactionByHash(transaction_hash), { sender_address: address, nonce })
    t.match(await provider.channel.getTransactionReceipt(transaction_hash), { transaction_hash })
    t.strictSame(
      await provider.channel.getTransactionStatus(transaction_hash),
      { finality_status: 'ACCEPTED_ON_L2', execution_status: 'SUCCEEDED' },
      'nothing that the specification of Starknet does not have',
    )
    t.match(await provider.channel.waitForTransaction(transaction_hash, { retryInterval: 20 }), {
      transaction_hash,
    })
  }
})

t.test('an account executes with nothing given but the call', async (t) => {
  const account = new Account({ provider, address: '0x71df', signer: '0x1234' })
  const call = { contractAddress: '0x55', entrypoint: 'transfer', calldata: ['1', '2'] }
  const { transaction_hash } = await account.execute(call)
  t.match(await provider.getTransactionByHash(transaction_hash), {
    sender_address: '0x71df',
    nonce: '0x0',
    resource_bounds: { l2_gas: { max_amount: /^0x/ } },
  })
  // The client adds half to each amount and to each price.
  t.match(await account.estimateInvokeFee(call), { overall_fee: 216n })
})

t.test('the chain, its head and its blocks', async (t) => {
  t.equal(await provider.getChainId(), '0x534e5f5345504f4c4941')
  t.equal(await provider.getBlockNumber(), 7)
  t.match(await provider.getBlockWithTxs('latest'), { block_number: 7 })
  await t.rejects(provider.getNonceForAddress(address, 99), /Block not found/)
})
