/** A store that was filled from an archive and a chain file continues under a consensus client, without other nodes. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bytesToHex, toHash32 } from '../../../src/primitives/bytes.js'
import { encodeRlpListOfEncoded, rlpListSpans, rlpSpanAt } from '../../../src/primitives/rlp.js'
import {
  ChainMaker,
  contracts,
  type MadeBlock,
  mergedConfig,
  storeInput,
  testGenesis,
} from '../../ingest/chainMaker.js'
import { writeEre } from '../../ingest/eraArchives.js'
import { payloadOf } from '../../ingest/payloads.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { startEngine } from '../../service/engineNode.js'
import { runHere, writeConfig } from '../../service/program.js'

const beaconRoot = `0x${'be'.repeat(32)}`
const zero = `0x${'00'.repeat(32)}`
const none = new Uint8Array(0)

/** A block as an archive has it, without receipts. */
function archived({ rlp, hash, number }: MadeBlock) {
  const [header, ...body] = rlpListSpans(rlp, rlpSpanAt(rlp, 0)).map(({ start, end }) =>
    rlp.subarray(start, end),
  )
  return {
    number,
    hash: toHash32(hash),
    header: header as Uint8Array,
    body: encodeRlpListOfEncoded(body),
    receipts: none,
    slimReceipts: none,
    totalDifficulty: 0n,
  }
}

t.test('serve continues from blocks that import executed from an archive and a chain file', async (t) => {
  const genesis = testGenesis(mergedConfig(), { difficulty: '0x0' })
  const maker = await ChainMaker.create(genesis)
  const plans = Array.from({ length: 8 }, (_, index) => ({
    transactions: [{ to: contracts.store, data: storeInput(BigInt(index), 1n) }],
  }))
  const blocks = await maker.extendBy(maker.genesis, plans)
  const folder = makeFolder(t)
  writeInto(folder, 'genesis.json', genesis)
  const networks = [{ name: 'engine', genesis: 'genesis.json' }]
  const config = writeConfig(folder, { dataDir: 'data', networks })
  const archive = join(folder, 'engine-00000-aaaaaaaa.ere')
  writeEre(archive, blocks.slice(0, 4).map(archived), { receipts: false, totals: false })
  const chain = join(folder, 'chain.rlp')
  writeFileSync(chain, Buffer.concat(blocks.slice(4, 6).map(({ rlp }) => rlp)))
  for (const file of [archive, chain]) {
    const imported = await runHere(['import', '--config', config, '--network', 'engine', file])
    t.equal(imported.status, 0, imported.err)
  }

  const node = await startEngine(t, { data: join(folder, 'data') })
  t.equal((await node.service.call('eth_blockNumber')).result, '0x6')
  for (const made of blocks.slice(6)) {
    const { result } = await node.call('engine_newPayloadV4', [payloadOf(made), [], beaconRoot, []])
    t.equal(result.status, 'VALID', 'its parent is stored')
  }
  const head = bytesToHex((blocks.at(-1) as MadeBlock).hash)
  const state = { headBlockHash: head, safeBlockHash: zero, finalizedBlockHash: zero }
  const { result } = await node.call('engine_forkchoiceUpdatedV3', [state])
  t.equal(result.payloadStatus.status, 'VALID')
  t.equal((await node.service.call('eth_blockNumber')).result, '0x8')
  for (const index of plans.keys()) {
    const read = await node.service.call('eth_getStorageAt', [contracts.store, `0x${index}`, 'latest'])
    t.equal(BigInt(read.result), 1n, `slot ${index}`)
  }
})
