/** The view of an operator on a quiet day, in trouble, and for a key over its quota: in Chromium, at three widths. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { choose, dashboardOf, logIn } from '../../dashboard/servedDashboard.js'
import { waitFor } from '../../library/until.js'
import { openBrowser, Visit, withoutBrowser } from '../../service/browser.js'
import { serveDemo } from '../../service/servedDemo.js'
import { startService } from '../../service/service.js'

const widths = [1_440, 1_024, 390] as const

/** No table is wider than the page, and no page wider than the window. */
async function seeAllColumns(t: Test, { page }: Visit, width: number): Promise<void> {
  const cut = `[...document.querySelectorAll('.scrolled')]
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1).length`
  await waitFor(`all columns at ${width} px`, async () => (await page.evaluate(cut)) === 0)
  t.equal(await page.evaluate('document.documentElement.scrollWidth'), width)
}

/** Pictures of a phone in light colours, and of a wide page in both. */
async function takePictures({ page }: Visit, name: string, width: number): Promise<void> {
  for (const scheme of width === 390 ? (['phone'] as const) : (['light', 'dark'] as const)) {
    const value = scheme === 'dark' ? 'dark' : 'light'
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }])
    const path = join(packageRoot(), `docs/images/dashboard-${name}-${scheme}.png`) as `${string}.png`
    await page.screenshot({ fullPage: true, path })
  }
}

t.test(
  'a dead upstream degrades its network, by name, since when and why',
  { skip: withoutBrowser },
  async (t) => {
    const archive = await startService()
    t.teardown(() => archive.stop())
    // No server listens at this address.
    const dead = 'http://127.0.0.1:9/'
    const networks = [{ name: 'main', kind: 'gateway', upstreams: [archive.origin, dead] }]
    const { service, dataDir } = await serveDemo(t, { networks, admin: { port: 0 } }, [])
    const { url, token } = await dashboardOf(service, dataDir)
    const visit = await Visit.open(await openBrowser(t), url)
    await logIn(visit, token)
    await visit.see(/Everything is answered, but main is degraded\./)
    await visit.see('live, degraded', 'header')
    const card = '[aria-label="Network main"]'
    await visit.see(/degraded: 127\.0\.0\.1:9 does not answer \(.+\), for \d+ s/, card)
    await visit.see(/127\.0\.0\.1:9\s+no answer\s+\d+ s[\s\S]*\d+ s ago/, card)
    for (const width of widths) {
      await visit.page.setViewport({ width, height: 740 })
      await choose(visit, 'Health')
      await seeAllColumns(t, visit, width)
      if (process.env.SCREENSHOTS !== undefined && width !== 1_024) {
        await takePictures(visit, 'trouble', width)
      }
    }
    t.strictSame(visit.faults, [])
  },
)

t.test(
  'a key over its quota is red, with its share, its end and its refusals',
  { skip: withoutBrowser },
  async (t) => {
    const { service, dataDir } = await serveDemo(t, { admin: { port: 0 } }, [])
    const { url, token } = await dashboardOf(service, dataDir)
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({
      name: 'shop',
      limits: { unitsPerDay: 1_000 },
      scopes: { networks: ['demo'] },
    })
    const made = await fetch(new URL('/api/keys', url), { method: 'POST', headers, body })
    const { text, key } = (await made.json()) as { text: string; key: { id: string } }
    const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_gasPrice', params: [] })
    const failing = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBalance', params: ['latest'] })
    await service.post(`/v3/${text}`, failing)
    let refused = 0
    while (refused < 3) if ((await service.post(`/v3/${text}`, call)).status === 429) refused++
    const visit = await Visit.open(await openBrowser(t), url)
    await logIn(visit, token)
    for (const width of widths) {
      await visit.page.setViewport({ width, height: 740 })
      await choose(visit, 'Keys')
      await visit.see(
        /shop\s+[0-9a-f]{12}\s+over its quota\s+(?:9\d[.\d]*|100) % of 1,000 units; resets in \d+ /,
        'main',
      )
      await visit.see(new RegExp(`shop \\(${key.id}\\)\\s+3\\s+quota\\s+limit exceeded: .*a day`), 'main')
      t.equal(await visit.page.evaluate('document.documentElement.scrollWidth'), width)
      if (process.env.SCREENSHOTS !== undefined && width !== 1_024) {
        await visit.see('of the last 24 hours', 'main')
        await takePictures(visit, 'quota', width)
      }
    }
    for (const width of widths) {
      await visit.page.setViewport({ width, height: 740 })
      await choose(visit, 'Traffic')
      await visit.see(
        /eth_getBalance\s+(?:Network\s+)?demo\s+(?:Block\s+)?latest \(264\)[\s\S]+-32602: /,
        'main',
      )
      await seeAllColumns(t, visit, width)
    }
    const metrics = await (await fetch(new URL('/metrics', url), { headers })).text()
    t.match(metrics, `tidegate_key_refusals_total{key="${key.id}",name="shop"} 3\n`)
    t.match(metrics, new RegExp(`tidegate_key_calls_total\\{key="${key.id}",name="shop"\\} [1-9]`))
    t.match(metrics, /tidegate_rpc_errors_total\{network="demo",method="eth_gasPrice",code="-32005"\} 3\n/)
    t.strictSame(visit.faults, [])
  },
)
