/** The chains of the Amsterdam fork, as far as they follow from their access lists: no contract runs here. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readChainFile } from '../../src/ingest/chainFile.js'
import { parseGenesis } from '../../src/ingest/genesis.js'
import { ChainImporter } from '../../src/ingest/importer.js'
import { verifyChain } from '../../src/ingest/verifyChain.js'
import { bytesToHex } from '../../src/primitives/bytes.js'
import { ChainWriter } from '../../src/store/chainWriter.js'
import { amsterdamChains, amsterdamFile, readAmsterdamBlocks, withoutAmsterdam } from '../amsterdam.js'
import { ListExecutor } from '../library/listExecutor.js'

for (const chain of amsterdamChains) {
  t.test(`${chain}: lists lead from state to state`, { skip: withoutAmsterdam }, async (t) => {
    t.testdir()
    const wanted = readAmsterdamBlocks(chain)
    const store = ChainWriter.openForWriting({ path: join(t.testdirName, 'chain.mdb'), mapBytes: 2 ** 30 })
    t.teardown(() => store.close())
    const { identity, bundle, schedule } = parseGenesis(
      readFileSync(amsterdamFile(chain, 'genesis.json'), 'utf8'),
    )
    store.initialize(identity, bundle)
    const importer = new ChainImporter(store, schedule, { executor: new ListExecutor(schedule, wanted) })
    store.holdCommits()
    for await (const { rlp } of readChainFile(amsterdamFile(chain, 'chain-with-bal.rlp.gz'))) {
      await importer.importBlock(rlp)
    }
    await store.commitHeld()
    t.equal(bytesToHex(store.head.hash), wanted.at(-1)?.hash)
    t.strictSame(verifyChain(store, { blocks: 3, seed: 1, onProgress: () => undefined }).faults, [])
  })
}
