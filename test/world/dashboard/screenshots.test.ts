/** Makes the pictures of the documentation again, from the demo network while it gets calls. */
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { dashboardOf, load, logIn } from '../../dashboard/servedDashboard.js'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { blockAt, hex } from '../../rpc/demoChain.js'
import { openBrowser, Visit, withoutBrowser } from '../../service/browser.js'
import { writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'

const skip = process.env.SCREENSHOTS === undefined ? 'SCREENSHOTS=1 makes them' : withoutBrowser

/** Points of the charts, a minute apart. */
const pointsMin = 4

/** Name of a view, a text that is there once it is whole, and the colours. */
const pictures = [
  ['Health', 'Everything works', 'light'],
  ['Traffic', /-32602[\s\S]+eth_getBalance[\s\S]+wallet \(/, 'light'],
  ['Traffic', /-32602[\s\S]+eth_getBalance[\s\S]+wallet \(/, 'dark'],
  ['Playground', '"result"', 'light'],
] as const

t.test('pictures of the dashboard, light and dark', { skip }, async (t) => {
  const folder = makeFolder(t)
  const config = writeConfig(folder, { dataDir: 'data', admin: { port: 0 } })
  const service = await startService(['--config', config])
  t.teardown(() => service.stop())
  const { url, token } = await dashboardOf(service, join(folder, 'data'))
  const ask = async (path: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const init = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) }
    return (await fetch(new URL(path, url), init)).json()
  }
  const miner = hex(blockAt(1).header[2] as Uint8Array)
  const wholeBlocks = Array.from({ length: 40 }, (_, number) => [
    'eth_getBlockByNumber',
    [`0x${(number + 1).toString(16)}`, true],
  ])
  const loads = {
    wallet: [
      ['eth_getBalance', [miner, 'latest']],
      ['eth_chainId', []],
      ['eth_gasPrice', []],
    ],
    indexer: wholeBlocks,
    bridge: [
      ['eth_getProof', [miner, [], 'latest']],
      ['eth_getBalance', ['latest']],
    ],
  }
  for (const [name, calls] of Object.entries(loads)) {
    const { text: key } = (await ask('/api/keys', { name })) as { text: string }
    t.teardown(load({ service, key }, calls as never))
  }
  const visit = await Visit.open(await openBrowser(t), url)
  // The full height of each view.
  await visit.page.setViewport({ width: 1_280, height: 480 })
  await logIn(visit, token)
  await waitFor('a history', async () => {
    const { at } = (await ask('/api/history')) as { at: unknown[] }
    return at.length >= pointsMin
  })
  for (const [view, said, scheme] of pictures) {
    await visit.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
    await visit.click('link', view)
    await visit.see(said, 'main')
    await visit.page.screenshot({
      fullPage: true,
      path: join(
        packageRoot(),
        `docs/images/dashboard-${view.toLowerCase()}-${scheme}.png`,
      ) as `${string}.png`,
    })
  }
  t.strictSame(visit.faults, [])
})
