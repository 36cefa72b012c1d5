/**
 * `tidegate dev --fork` of a chain of the OP Stack, which is a developer chain here. Blocks have the same deposits, fees
 * and roots as on the base's own chain. Skipped where the chains of op-geth are absent, whose contracts it needs.
 */
import { join } from 'node:path'
import t from 'tap'
import { skipsOptimism } from '../../ingest/optimismChain.js'
import {
  developer,
  type Layout,
  layoutGenesis,
  layouts,
  newestContracts,
} from '../../ingest/optimismLayouts.js'
import { makeFolder } from '../../library/folder.js'
import { startDev, startDeveloper } from '../../service/developerChain.js'
import type { RpcAnswer } from '../../service/service.js'

const from = developer.address
const to = `0x${'cd'.repeat(20)}`
const l1Block = '0x4200000000000000000000000000000000000015'
/** Number and time of the block of L1, its base fee, its hash and its blob fee. */
const l1Slots = ['0x0', '0x1', '0x2', '0x7']
const hex = (value: number) => `0x${value.toString(16)}`

type Ask = (method: string, ...params: readonly unknown[]) => Promise<unknown>

t.test('a fork of a chain of the OP Stack', { skip: skipsOptimism }, async (t) => {
  const layout = layouts.find(({ name }) => name.startsWith('parameters')) as Layout
  const made = JSON.parse(layoutGenesis(layout, await newestContracts(join(makeFolder(t), 'a'))))
  const { service } = await startDeveloper(t, { genesis: { ...made, baseFeePerGas: '0xb2d05e00' } })
  const required = ({ result, error }: Pick<RpcAnswer, 'result' | 'error'>) => {
    if (error !== undefined) throw new Error(error.message)
    return result
  }
  const node = async (method: string, ...params: readonly unknown[]) =>
    required(await service.call(method, params))
  await node('eth_sendTransaction', { from, to, value: '0x1' })
  const chain = await startDev(t, ['--fork', service.origin, '--accounts', '1'])
  const fork = async (method: string, ...params: readonly unknown[]) =>
    required(await chain.ask(method, ...params))
  t.equal(await fork('eth_chainId'), hex(901))
  t.equal(await fork('eth_blockNumber'), '0x1')

  const { timestamp } = await fork('eth_getBlockByNumber', 'latest', false)
  await fork('anvil_setBalance', from, await node('eth_getBalance', from, 'latest'))
  const send = async (ask: Ask) => {
    await ask('evm_setNextBlockTimestamp', Number(timestamp) + 7)
    return ask('eth_sendTransaction', {
      from,
      to,
      value: '0x5',
      gas: '0x9000',
      data: `0x${'00ff'.repeat(200)}`,
      maxFeePerGas: '0x1bf08eb000',
      maxPriorityFeePerGas: '0x1',
    })
  }
  const theirs = await send(node)
  t.equal(await send(fork), theirs)
  const block = await fork('eth_getBlockByNumber', '0x2', true)
  t.strictSame(block, await node('eth_getBlockByNumber', '0x2', true), 'the same block, with the same roots')
  t.match(block.transactions, [{ type: '0x7e' }, { hash: theirs }])
  const receipts = await fork('eth_getBlockReceipts', '0x2')
  t.strictSame(receipts, await node('eth_getBlockReceipts', '0x2'))
  t.match(receipts[1], { status: '0x1', l1Fee: /^0x[1-9a-f]/ })
  const l1Values = (ask: Ask, block: string) =>
    Promise.all(l1Slots.map((slot) => ask('eth_getStorageAt', l1Block, slot, block)))
  const values = await l1Values(fork, 'latest')
  t.strictSame(values, await l1Values(node, '0x1'), 'the values of L1 are those of the base')
  t.ok(Number(values[1]) > 0)
  t.match(await fork('debug_traceTransaction', theirs, { tracer: 'callTracer' }), { value: '0x5' })
  t.equal(await fork('eth_estimateGas', { from, to, value: '0x1' }), '0x5208')

  await fork('anvil_addBalance', to, '0x3b9aca00')
  t.equal(Number(await fork('eth_getBalance', to, 'latest')), 1 + 5 + 10 ** 9)
  const paid = await fork('eth_getBlockByNumber', 'latest', true)
  t.match(paid.transactions, [{ type: '0x7e' }, { type: '0x7e' }])
  t.equal(paid.transactions.length, 2)
})
