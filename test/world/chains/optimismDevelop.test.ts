// @shares
/**
 * Blocks of the OP Stack that are made here, over many orders of forks. An import accepts them, and the balances of
 * accounts match the fees of receipts. Skipped without the chains of op-geth, whose contracts the test needs.
 */
import { join } from 'node:path'
import t from 'tap'
import { Chain } from '../../../src/data/chain/chain.js'
import { decodeAccount } from '../../../src/data/state/account.js'
import { bytesToHex, type Hash32, hexToBytes, toAddress } from '../../../src/primitives/bytes.js'
import { parseBlock } from '../../../src/sources/ingest/blocks/block.js'
import { type Json, openOptimism, skipsOptimism } from '../../ingest/optimismChain.js'
import {
  developer,
  type Layout,
  layoutBlocks,
  layoutGenesis,
  layouts,
  makeLayout,
  newestContracts,
} from '../../ingest/optimismLayouts.js'
import { makeFolder } from '../../library/folder.js'
import { startDeveloper } from '../../service/developerChain.js'
import { runHere } from '../../service/program.js'

const options = { supportsSafe: true, safeLag: 0, finalizedLag: 0, answerCacheBytes: 2 ** 20 }
const vault = (end: string) => hexToBytes(`420000000000000000000000000000000000${end}`)
const parsed = (json: Uint8Array | undefined) => JSON.parse(Buffer.from(json ?? []).toString())

t.test('blocks that are made here', { skip: skipsOptimism }, async (t) => {
  const folder = makeFolder(t)
  const contracts = await newestContracts(join(folder, 'a'))
  for (const [index, layout] of layouts.entries()) {
    await t.test(layout.name, async (t) => {
      const genesis = layoutGenesis(layout, contracts)
      const { store, said } = await makeLayout(join(folder, `made${index}`), genesis)
      t.strictSame(said, [], 'no transaction was dropped')
      t.equal(store.head.number, layoutBlocks)
      const copy = openOptimism(join(folder, `copy${index}`), genesis)
      const chain = new Chain(store, options)
      const fees = { l1: 0n, operator: 0n, base: 0n }
      let transactions = 0
      copy.store.beginBatch()
      for (let number = 1; number <= layoutBlocks; number++) {
        const hash = store.readCanonicalHash(number) as Hash32
        await copy.importer.importBlock(parseBlock(chain.readRawBlock(hash) as Uint8Array))
        const block = parsed(chain.blockJson(hash, true))
        const isFirst = Object.values(layout.forks).includes(number)
        const types = block.transactions.map(({ type }: Json) => type)
        t.equal(types[0], '0x7e', 'the attributes come first')
        if (isFirst)
          t.equal(types.length, number === 6 ? 2 : 1, `block ${number} begins a fork, and has no others`)
        for (const [at, receipt] of parsed(chain.receiptsJson(hash)).entries()) {
          const isKnown = layout.isOld === true && at === 0
          if (!isKnown) t.equal(receipt.status, '0x1', `transaction ${at} of block ${number}`)
          if (types[at] === '0x7e') continue
          transactions++
          const gas = BigInt(receipt.gasUsed)
          fees.l1 += BigInt(receipt.l1Fee)
          fees.base += gas * BigInt(block.baseFeePerGas)
          t.ok(BigInt(receipt.l1Fee) > 0n)
        }
      }
      await copy.store.commitBatch()
      t.equal(bytesToHex(copy.store.head.hash), bytesToHex(store.head.hash), 'an import takes them all')
      const balance = (address: Uint8Array) => {
        const row = copy.store.readAccount(toAddress(address))
        return row === undefined ? 0n : decodeAccount(row).balance
      }
      const starts = JSON.parse(genesis).alloc
      const before = (end: string) => BigInt(starts[bytesToHex(vault(end)).slice(2)]?.balance ?? 0)
      t.equal(balance(vault('0019')) - before('0019'), fees.base, 'base fees')
      if (layout.isOld !== true) t.equal(balance(vault('001a')) - before('001a'), fees.l1, 'fees of L1')
      t.ok(balance(new Uint8Array(20).fill(0xab)) >= 7n * 10n ** 9n, 'the payment')
      t.ok(transactions > 15)
      await store.close()
      await copy.store.close()
    })
  }
})

t.test('a developer chain', { skip: skipsOptimism }, async (t) => {
  const folder = makeFolder(t)
  const layout = layouts.find(({ name }) => name.startsWith('parameters')) as Layout
  const made = JSON.parse(layoutGenesis(layout, await newestContracts(join(folder, 'a'))))
  // As low as the base fee of a later block may be.
  const genesis = { ...made, baseFeePerGas: '0xb2d05e00' }
  const { service, config } = await startDeveloper(t, { genesis })
  const ask = async (method: string, ...params: readonly unknown[]) => {
    const { result, error } = await service.call(method, params)
    if (error !== undefined) throw new Error(error.message)
    return result
  }
  const from = developer.address
  const to = `0x${'cd'.repeat(20)}`
  const hash = await ask('eth_sendTransaction', { from, to, value: '0x3b9aca00' })
  t.match(await ask('eth_getTransactionReceipt', hash), { status: '0x1', l1Fee: /^0x[1-9a-f]/ })
  t.equal(await ask('anvil_addBalance', to, '0x3b9aca00'), null)
  t.equal(await ask('eth_getBalance', to, 'latest'), '0x77359400')
  const paid = await ask('eth_getBlockByNumber', 'latest', true)
  t.match(paid, { extraData: layout.extraData, transactions: [{ type: '0x7e' }, { type: '0x7e' }] })
  t.equal(await ask('eth_estimateGas', { from, to, value: '0x1' }), '0x5208')
  const [simulated] = await ask('eth_simulateV1', { blockStateCalls: [{ calls: [{ from, to }] }] }, 'latest')
  t.match(simulated, { number: '0x3', calls: [{ status: '0x1' }] })
  t.match(await ask('eth_getBlockByNumber', 'pending', false), { extraData: layout.extraData })
  t.equal(await service.stop(), 0)
  const verified = await runHere(['verify', '--config', config, '--network', 'dev'])
  t.match(verified, { status: 0, out: /No fault found/ })
})
