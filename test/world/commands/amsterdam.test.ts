// @shares
/** When a chain crosses into Amsterdam. `amsterdamLive` crosses with a follower and a gateway. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readChainFile } from '../../../src/sources/ingest/blocks/chainFile.js'
import { amsterdamFile, withoutAmsterdam } from '../../ingest/amsterdam.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { runHere, writeConfig } from '../../service/program.js'

t.test(
  'a fork time of the configuration is as good as one of the genesis',
  { skip: withoutAmsterdam },
  async (t) => {
    const folder = makeFolder(t)
    const genesis = JSON.parse(readFileSync(amsterdamFile('a1-cross', 'genesis.json'), 'utf8'))
    const { amsterdamTime, ...config } = genesis.config
    const path = writeInto(folder, 'genesis.json', { ...genesis, config })
    const blocks: Buffer[] = []
    for await (const { rlp } of readChainFile(amsterdamFile('a1-cross', 'chain.rlp.gz'))) {
      blocks.push(Buffer.from(rlp))
      if (blocks.length > 41) break
    }
    const chain = writeInto(folder, 'chain.rlp', Buffer.concat(blocks))
    const importWith = (forks: unknown) => {
      const networks = [{ name: 'cross', genesis: path, forks }]
      const file = writeConfig(folder, { dataDir: join(folder, 'data'), networks })
      return runHere(['import', '--config', file, '--network', 'cross', chain])
    }
    const without = await importWith({})
    t.equal(without.status, 1)
    t.match(without.err, /block 40 .* blockAccessListHash is present, expected none before amsterdam/)
    t.equal((await importWith({ amsterdamTime })).status, 0)
    writeInto(folder, 'genesis.json', { ...genesis, config: { ...config, amsterdamTime: amsterdamTime + 1 } })
    const contrary = await importWith({ amsterdamTime })
    t.match(
      contrary.err,
      /config\.amsterdamTime is \d+, and "forks" of the configuration says \d+; leave one of them out/,
    )
  },
)
