// @shares
import t, { type Test } from 'tap'
import { makeFolder, writeInto } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { expectedBlock } from '../../rpc/blockOracle.js'
import { type BranchBlock, buildBranch, chainFileOf, counterAddress } from '../../rpc/branches.js'
import { blockAt, blockBytes, quantity } from '../../rpc/demoChain.js'
import { verifyAnswer } from '../../rpc/proofOracle.js'
import { askAll, askResults, checkRefusals, type Question } from '../../rpc/questions.js'
import { serveChain } from '../../rpc/servedChain.js'
import { expectedTransaction } from '../../rpc/transactionOracle.js'
import { startProgram } from '../../service/program.js'

const word = (value: number) => `0x${value.toString(16).padStart(64, '0')}`

t.test('a head that another process moves takes every answer with it', async (t) => {
  const first = blockAt(20)
  const second = blockAt(45)
  const { service, add } = await serveChain(makeFolder(t), Buffer.concat(blockBytes.slice(0, first.number)))
  t.teardown(() => service.stop())
  const questions: Question[] = [
    ['eth_blockNumber', []],
    ['eth_getBlockByNumber', ['latest', true]],
    ['eth_getBlockByNumber', ['pending', false]],
    ['eth_getBlockByNumber', ['finalized', false]],
    ['eth_getBlockByNumber', [quantity(second.number), false]],
    ['eth_getBlockByHash', [second.hash, true]],
    ['eth_getBlockReceipts', ['latest']],
    ['eth_getBlockReceipts', [second.hash]],
    ['eth_getStorageAt', [counterAddress, '0x0', 'latest']],
    ['eth_getTransactionByBlockNumberAndIndex', ['latest', '0x0']],
    ['eth_getTransactionByBlockHashAndIndex', [second.hash, '0x0']],
  ]
  const future: Question = ['eth_getStorageAt', [counterAddress, '0x0', quantity(second.number)]]
  // The questions are sent twice, so that cacheable answers are cached: in a batch and singly.
  const before = await askResults(service, questions)
  t.strictSame(await askResults(service, questions), before)
  for (const [method, params] of questions) await service.call(method, params)
  t.match((await askAll(service, [future]))[0], { error: { message: 'header not found' } })
  t.equal(before[0], quantity(first.number))
  t.strictSame(before[1], expectedBlock(first, true))
  t.equal(before[2].parentHash, first.hash)
  t.strictSame([before[4], before[5], before[7], before[10]], [null, null, null, null])

  await add(Buffer.concat(blockBytes.slice(0, second.number)))
  await waitFor('the new head', async () => {
    return (await service.call('eth_blockNumber')).result === quantity(second.number)
  })
  for (const round of [1, 2]) {
    const after = await askResults(service, questions)
    t.strictSame(after[1], expectedBlock(second, true), `latest, time ${round}`)
    t.equal(after[2].parentHash, second.hash)
    t.strictSame(after[3], expectedBlock(second, false))
    t.strictSame(after[4], expectedBlock(second, false))
    t.strictSame(after[5], expectedBlock(second, true))
    t.equal(after[6].length, second.transactions.length)
    t.strictSame(after[7], after[6])
    t.ok(BigInt(after[8]) >= BigInt(before[8]))
    if (second.transactions.length > 0) t.strictSame(after[9], expectedTransaction(second, 0))
    t.strictSame(after[10], after[9])
  }
  t.equal((await service.call(...(future as [string, unknown[]]))).error, undefined)
  t.strictSame(
    (await service.call('eth_getBlockByNumber', [quantity(first.number), true])).result,
    expectedBlock(first, true),
    'what a number names stays',
  )
})

t.test('a reader sees only whole blocks while another process imports', async (t) => {
  const from = 20
  const to = blockAt(60)
  const folder = makeFolder(t)
  const { service, flags } = await serveChain(folder, Buffer.concat(blockBytes.slice(0, from)))
  t.teardown(() => service.stop())
  const file = writeInto(folder, 'rest.rlp', Buffer.concat(blockBytes.slice(from, to.number)))
  const run = startProgram(['import', ...flags, file])
  let last = from
  const heads = new Set<number>()
  await waitFor('the last block', async () => {
    const [number, block, receipts, pending] = await askResults(service, [
      ['eth_blockNumber', []],
      ['eth_getBlockByNumber', ['latest', true]],
      ['eth_getBlockReceipts', ['latest']],
      ['eth_getBlockByNumber', ['pending', false]],
    ])
    const head = Number(number)
    if (head < last) t.fail(`the head went back from ${last} to ${head}`)
    last = head
    if (!heads.has(head)) t.strictSame(block, expectedBlock(blockAt(head), true), `block ${head}`)
    heads.add(head)
    if (receipts.length !== block.transactions.length) t.fail(`block ${head} has ${receipts.length} receipts`)
    if (pending.parentHash !== block.hash) t.fail(`the pending block is not on top of ${head}`)
    return head === to.number
  })
  t.equal((await run.finished).status, 0)
})

t.test('a branch with more work replaces the canonical one, and the old blocks stay by hash', async (t) => {
  const [a, b, c] = (await Promise.all([
    buildBranch({ name: 'a', forksAt: 3, increments: [1, 0, 1, 1, 0, 0, 0] }),
    buildBranch({ name: 'b', forksAt: 3, increments: [1, 0, 2, 3, 2] }),
    buildBranch({ name: 'c', forksAt: 3, increments: [1, 0, 4] }),
  ])) as [BranchBlock[], BranchBlock[], BranchBlock[]]
  const [a3, a4, b3, b5, c3] = [a[2], a[3], b[2], b[4], c[2]] as BranchBlock[]
  if (!a3 || !a4 || !b3 || !b5 || !c3) throw new RangeError('a branch is too short')
  t.equal(a[1]?.hash, b[1]?.hash, 'the branches share their first blocks')
  t.not(a3.hash, b3.hash)
  const { service, add, headIs } = await serveChain(makeFolder(t), chainFileOf(a.slice(0, 4)))
  t.teardown(() => service.stop())

  const blockOf = async (id: unknown) => (await service.call('eth_getBlockByNumber', [id, true])).result
  const countAt = async (id: unknown) =>
    (await service.call('eth_getStorageAt', [counterAddress, '0x0', id])).result
  /** The same count, by a proof against the block's own state root. */
  const provenCountAt = async (block: BranchBlock, id: unknown) => {
    const { result } = await service.call('eth_getProof', [counterAddress, ['0x0'], id])
    return verifyAnswer(block.stateRoot, result)[0]
  }
  /** The same count as seen by code that runs on the block's state. */
  const executedCountAt = async (id: unknown) => {
    // Returns slot 0.
    const code = '0x60005460005260206000f3'
    const params = [{ to: counterAddress }, id, { [counterAddress]: { code } }]
    return (await service.call('eth_call', params)).result
  }
  const receiptsOf = async (id: unknown) => (await service.call('eth_getBlockReceipts', [id])).result
  /** All answers by number are of this branch. */
  const isCanonical = async (t: Test, branch: readonly BranchBlock[]) => {
    for (const block of branch) {
      const number = quantity(block.number)
      t.strictSame(await blockOf(number), expectedBlock(block, true), `block ${block.number}`)
      t.strictSame(await blockOf({ blockHash: block.hash, requireCanonical: true }), await blockOf(number))
      t.equal(await countAt(number), word(block.count))
      t.equal(await provenCountAt(block, number), word(block.count))
      t.equal(await provenCountAt(block, block.hash), word(block.count))
      t.equal(await countAt({ blockHash: block.hash, requireCanonical: true }), word(block.count))
      t.equal(await executedCountAt(number), word(block.count))
      t.equal(await executedCountAt(block.hash), word(block.count))
      t.equal((await receiptsOf(number)).length, block.transactions.length)
    }
    const head = branch.at(-1) as BranchBlock
    t.equal(await countAt('latest'), word(head.count))
    t.equal(await provenCountAt(head, 'latest'), word(head.count))
    t.equal((await blockOf('pending')).parentHash, head.hash)
    t.equal(await blockOf(quantity(head.number + 1)), null)
  }
  /** The blocks can be read by hash with all their parts, and are refused if canonical blocks are required. */
  const isBeside = async (t: Test, branch: readonly BranchBlock[]) => {
    for (const block of branch) {
      const blockHash = block.hash
      const wanted = { blockHash, requireCanonical: true }
      t.strictSame(
        (await service.call('eth_getBlockByHash', [blockHash, true])).result,
        expectedBlock(block, true),
      )
      t.strictSame(await blockOf({ blockHash }), expectedBlock(block, true))
      t.equal(await countAt({ blockHash }), word(block.count), `the count after ${block.number} is kept`)
      t.equal(await provenCountAt(block, { blockHash }), word(block.count))
      t.equal(await executedCountAt(blockHash), word(block.count))
      const receipts = await receiptsOf(blockHash)
      t.equal(receipts.length, block.transactions.length)
      for (const receipt of receipts) t.equal(receipt.blockHash, blockHash)
      const notCanonical = 'hash is not currently canonical'
      await checkRefusals(t, service, 'eth_getBlockByNumber', [[[wanted, false], -32000, notCanonical]])
      await checkRefusals(t, service, 'eth_getBlockReceipts', [[[wanted], -32000, notCanonical]])
      await checkRefusals(t, service, 'eth_getTransactionByBlockNumberAndIndex', [
        [[wanted, '0x0'], -32000, notCanonical],
      ])
      await checkRefusals(t, service, 'eth_getStorageAt', [
        [[counterAddress, '0x0', wanted], -32000, notCanonical],
      ])
      await checkRefusals(t, service, 'eth_getProof', [[[counterAddress, [], wanted], -32000, notCanonical]])
      await checkRefusals(t, service, 'tidegate_getStorageByKeys', [
        [[counterAddress, '0x1', [], wanted], -32000, notCanonical],
      ])
      if (block.transactions.length > 0) {
        const { result } = await service.call('eth_getTransactionByBlockHashAndIndex', [blockHash, '0x0'])
        t.strictSame(result, expectedTransaction(block, 0))
      }
    }
  }

  await t.test('the first branch is canonical', (t) => isCanonical(t, a.slice(0, 4)))

  await add(chainFileOf([c3]))
  await t.test('a branch with less work is kept aside, not executed', async (t) => {
    t.equal((await blockOf('latest')).hash, a4.hash)
    const { result } = await service.call('eth_getBlockByHash', [c3.hash, true])
    t.strictSame(result, expectedBlock(c3, true))
    t.equal(await receiptsOf(c3.hash), null, 'its receipts are not known')
    await checkRefusals(t, service, 'eth_getStorageAt', [
      [
        [counterAddress, '0x0', { blockHash: c3.hash }],
        -32000,
        `historical state ${c3.stateRoot} is not available`,
      ],
      [
        [counterAddress, '0x0', { blockHash: c3.hash, requireCanonical: true }],
        -32000,
        'hash is not currently canonical',
      ],
    ])
    const notHeld = `historical state ${c3.stateRoot} is not available`
    await checkRefusals(t, service, 'eth_getProof', [[[counterAddress, [], c3.hash], -32000, notHeld]])
    await checkRefusals(t, service, 'tidegate_getStorageByKeys', [
      [[counterAddress, '0x1', ['0x1'], c3.hash], -32000, notHeld],
    ])
    for (const method of ['eth_call', 'eth_estimateGas', 'eth_createAccessList']) {
      await checkRefusals(t, service, method, [
        [[{ to: counterAddress }, c3.hash], -32000, notHeld],
        [
          [{ to: counterAddress }, { blockHash: c3.hash, requireCanonical: true }],
          -32000,
          'hash is not currently canonical',
        ],
      ])
    }
    await isCanonical(t, a.slice(0, 4))
  })

  await add(chainFileOf(b.slice(2)))
  await headIs(b5.hash)
  await t.test('the second branch is canonical', (t) => isCanonical(t, b))
  await t.test('the first is beside it', (t) => isBeside(t, a.slice(2, 4)))

  const head = a.at(-1) as BranchBlock
  await add(chainFileOf(a.slice(4)))
  await headIs(head.hash)
  await t.test('the first branch is canonical again once it has more work', (t) => isCanonical(t, a))
  await t.test('the second is beside it', (t) => isBeside(t, b.slice(2)))
})
