import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { pricedKinds } from '../../../bench/scenarios/pricedKinds.js'
import { measurePrice, priceLimits } from '../../../bench/scenarios/prices.js'
import { startTidegate } from '../../../bench/servers/tidegateServer.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { fixtureDir } from '../../service/fixtures.js'

t.test('a key is charged as the price table says, seen from outside', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-prices-'))
  const demo = {
    name: 'demo',
    folder: join(fixtureDir, 'networks/demo'),
    genesisPath: join(packageRoot(), 'data/devnet/genesis.json'),
  }
  const expected = { eth_blockNumber: 1, 'eth_getBlockByNumber, 200 transactions': 50, 'no call, 2 bytes': 1 }
  const names = Object.keys(expected)
  const server = await startTidegate(folder, [demo], { limits: priceLimits, keyNames: names })
  t.teardown(async () => {
    await server.stop()
    rmSync(folder, { recursive: true })
  })
  for (const [at, [name, price]] of Object.entries(expected).entries()) {
    const kind = pricedKinds.find((each) => each.name === name) as (typeof pricedKinds)[number]
    const { answers, units } = await measurePrice(server, server.keyedUrls[at] as string, kind, 0.3)
    // The last units that fill the bucket, one a second, are not visible.
    t.ok(answers > 0 && Math.abs(units - price) < 0.05 * price + 5 / answers, `${name}: ${units}`)
  }
})
