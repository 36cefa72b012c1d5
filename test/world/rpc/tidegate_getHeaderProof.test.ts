// @shares
import { join } from 'node:path'
import t from 'tap'
import { verifyHeaderProof } from '../../../src/data/ssz/verifyHeaderProof.js'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { sepoliaArchive, storedBlocks, withoutSepolia, writeArchive } from '../../ingest/eraArchives.js'
import { makeFolder } from '../../library/folder.js'
import { blocks, genesisPath, headBlock, unknownHash } from '../../rpc/demoChain.js'
import { askResults, checkRefusals, countRefusals, hashRefusals } from '../../rpc/questions.js'
import { runHere, runProgram, writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'
import { demoStore } from '../../unit/execution/evm/demoExecution.js'

const method = 'tidegate_getHeaderProof'

/** A service with the demo chain as it came in an archive. */
async function startHistory() {
  const folder = makeFolder(t)
  const archive = join(folder, 'demo-00000-aaaaaaaa.era1')
  const root = writeArchive(archive, storedBlocks(demoStore))
  const networks = [{ name: 'old', kind: 'history', chainId: 8433, genesis: genesisPath }]
  const config = writeConfig(folder, { dataDir: folder, networks })
  const { status, err } = await runProgram(['import', '--config', config, archive])
  if (status !== 0) throw new Error(err)
  const service = await startService(['--config', config, '--no-auth'])
  return { service, root: bytesToHex(root) }
}

const { service, root } = await startHistory()
t.teardown(() => service.stop())

t.test('the header of every block is proved in the accumulator of its archive', async (t) => {
  const proofs = await askResults(
    service,
    blocks.map(({ hash }) => [method, [hash]]),
  )
  for (const [at, proof] of proofs.entries()) {
    const { hash, number } = blocks[at] as (typeof blocks)[number]
    t.match(verifyHeaderProof(proof, root), { blockHash: hash, blockNumber: number })
    t.match(proof, { blockNumber: `0x${number.toString(16)}`, epoch: '0x0', accumulator: root })
  }
})

t.test('a block that is not known has none, and one of no archive is said to be so', async (t) => {
  t.equal((await service.call(method, [unknownHash])).result, null)
  const archive = await startService()
  t.teardown(() => archive.stop())
  const { error } = await archive.call(method, [headBlock.hash])
  t.match(error, { code: -32000, message: /^block 0x[0-9a-f]+ is in no epoch that was checked/ })
})

t.test('wrong parameters are refused', async (t) => {
  await checkRefusals(t, service, method, [...countRefusals([headBlock.hash]), ...hashRefusals([])])
})

t.test('real blocks of Sepolia are served and proved', { skip: withoutSepolia }, async (t) => {
  const folder = makeFolder(t)
  const words = ['--network', 'sepolia', '--data', folder]
  const { status, out } = await runHere(['import', ...words, sepoliaArchive])
  t.equal(status, 0)
  t.match(out, 'Epoch 21: blocks 172032 to 180223, accumulator 0xb8814b14')
  t.match(out, 'linked to nothing before it; trusted as it is')
  const sepolia = await startService([...words, '--no-auth'])
  t.teardown(() => sepolia.stop())
  const ask = async (name: string, params: unknown[]) => (await sepolia.call(name, params)).result
  t.equal(await ask('eth_chainId', []), '0xaa36a7')
  const counts = await askResults(
    sepolia,
    Array.from({ length: 8_192 }, (_, at) => [
      'eth_getUncleCountByBlockNumber',
      [`0x${(172_032 + at).toString(16)}`],
    ]),
  )
  t.equal(
    counts.reduce((sum, count) => sum + Number(count), 0),
    1_273,
  )
  const withUncle = `0x${(172_032 + counts.findIndex((count) => count !== '0x0')).toString(16)}`
  const uncle = await ask('eth_getUncleByBlockNumberAndIndex', [withUncle, '0x0'])
  const including = await ask('eth_getBlockByNumber', [withUncle, false])
  t.equal(uncle.hash, including.uncles[0])
  const head = await ask('eth_getBlockByNumber', ['latest', false])
  const proof = await ask(method, [head.hash])
  const accumulator = '0xb8814b146889489efd392d80c7ca4e418d39302e25323a55882ca8cc0ef013e3'
  t.match(verifyHeaderProof(proof, accumulator), { blockHash: head.hash, blockNumber: 180_223 })
  t.match(await sepolia.call('eth_getBalance', [head.miner, 'latest']), {
    error: { message: 'this network holds no state' },
  })
  t.match(await sepolia.call('eth_getBlockByNumber', ['0x1', false]), { error: { code: 4444 } })
  const earliest = await ask('eth_getBlockByNumber', ['earliest', false])
  t.equal(earliest.number, '0x2a000')
})

t.test('transactions and receipts of Sepolia belong together', { skip: withoutSepolia }, async (t) => {
  const folder = makeFolder(t)
  const words = ['--network', 'sepolia', '--data', folder]
  t.equal((await runHere(['import', ...words, sepoliaArchive])).status, 0)
  const sepolia = await startService([...words, '--no-auth'])
  t.teardown(() => sepolia.stop())
  const found = await askResults(
    sepolia,
    Array.from({ length: 8_192 }, (_, at) => [
      'eth_getBlockByNumber',
      [`0x${(172_032 + at).toString(16)}`, true],
    ]),
  )
  // biome-ignore lint/suspicious/noExplicitAny: answers of the service
  const transactions: any[] = found.flatMap((block) => block.transactions)
  t.equal(transactions.length, 93)
  for (const { hash, blockHash, from } of transactions) {
    const receipt = (await sepolia.call('eth_getTransactionReceipt', [hash])).result
    t.match(receipt, { transactionHash: hash, blockHash, from })
    const again = (await sepolia.call('eth_getTransactionByHash', [hash])).result
    t.equal(again.blockHash, blockHash)
  }
  const verified = await runHere(['verify', ...words])
  t.equal(verified.status, 0)
  t.match(verified.out, 'block 172032 links to no block before it')
  t.match(verified.out, 'epoch 21, blocks 172032 to 180223: accumulator 0xb8814b14')
})
