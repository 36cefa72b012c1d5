// @shares
/** An archive of blocks after the Merge (ere), of a chain that crosses into Amsterdam. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { decodeRlpList, encodeRlp, type RlpItem, rlpBytes, rlpList } from '../../../src/primitives/rlp.js'
import { amsterdamFile, withoutAmsterdam } from '../../ingest/amsterdam.js'
import { storedBlocks, writeEre } from '../../ingest/eraArchives.js'
import { makeFolder } from '../../library/folder.js'
import { fixtureDir } from '../../service/fixtures.js'
import { runHere, storePathOf, writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'

/** A row of receipts without blooms and with their types, as ere has them. */
function slimOf(row: Uint8Array): Uint8Array {
  return encodeRlp(
    decodeRlpList(row).map((item): RlpItem => {
      const receipt = rlpBytes(item)
      const isLegacy = (receipt[0] as number) >= 0xc0
      const fields = rlpList(decodeRlpList(isLegacy ? receipt : receipt.subarray(1)))
      const [outcome, gasUsed, , logs] = fields as [RlpItem, RlpItem, RlpItem, RlpItem]
      const type = isLegacy ? new Uint8Array(0) : receipt.subarray(0, 1)
      return [type, outcome, gasUsed, logs]
    }),
  )
}

t.test(
  'an ere archive with Amsterdam blocks is imported, as history and executed',
  { skip: withoutAmsterdam },
  async (t) => {
    const folder = makeFolder(t)
    const source = ChainReader.open({ path: storePathOf(fixtureDir, 'cross') })
    // The fork is at block 40.
    const blocks = storedBlocks(source)
      .slice(0, 61)
      .map((block) => ({ ...block, slimReceipts: slimOf(block.receipts) }))
    await source.close()
    mkdirSync(join(folder, 'archives'))
    writeEre(join(folder, 'archives', 'cross-00000-aaaaaaaa-noproofs.ere'), blocks, { totals: false })
    const genesis = amsterdamFile('a1-cross', 'genesis.json')
    const networks = [
      { name: 'past', kind: 'history', genesis },
      { name: 'whole', genesis },
    ]
    const config = writeConfig(folder, { dataDir: join(folder, 'data'), networks })
    for (const network of ['past', 'whole']) {
      const words = ['import', '--config', config, '--network', network, join(folder, 'archives')]
      const { status, err } = await runHere(words)
      t.equal(status, 0, `${network}: ${err}`)
      const store = ChainReader.open({ path: storePathOf(join(folder, 'data'), network) })
      t.strictSame(
        storedBlocks(store),
        blocks.map(({ slimReceipts, ...block }) => block),
        network,
      )
      await store.close()
      const verified = await runHere(['verify', '--config', config, '--network', network])
      t.equal(verified.status, 0, `verify ${network}: ${verified.out}${verified.err}`)
    }
    const service = await startService(['--config', config, '--no-auth'])
    t.teardown(() => service.stop())
    const ask = async (network: string, id: string) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBlockAccessList', params: [id] })
      return JSON.parse((await service.post(`/${network}`, body)).text)
    }
    // Archives have no record for lists.
    t.equal((await ask('past', '0x29')).error.code, 4444)
    t.equal((await ask('past', '0x27')).error.code, -32001)
    t.ok((await ask('whole', '0x29')).result.length > 5)
  },
)
