// @scene a page of the dashboard
/** The dashboard's figures of a gateway's stored state, in a real browser, while the chain of its upstream grows. */
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { dashboardOf, logIn } from '../../dashboard/servedDashboard.js'
import { makeFolder } from '../../library/folder.js'
import { openBrowser, Visit, withoutBrowser } from '../../service/browser.js'
import { writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'

const devnet = (name: string) => join(packageRoot(), 'data/devnet', name)

t.test('the way in which held state stays current is shown', { skip: withoutBrowser }, async (t) => {
  const start = async (name: string, network: object, settings: object, flags: readonly string[]) => {
    const folder = makeFolder(t)
    const dataDir = join(folder, 'data')
    const config = writeConfig(folder, {
      dataDir,
      networks: [{ name, ...network }],
      ...settings,
    })
    const service = await startService(['--config', config, ...flags])
    t.teardown(() => service.stop())
    return { service, dataDir }
  }
  const source = { type: 'replay', file: devnet('chain.rlp'), from: 200, intervalMs: 200 }
  const archive = await start('demo', { genesis: devnet('genesis.json'), source }, {}, ['--no-auth'])
  const upstream = { kind: 'gateway', upstreams: [`${archive.service.origin}/v3/any`] }
  const { service, dataDir } = await start('gate', upstream, { admin: { port: 0 } }, [])
  const { url, token } = await dashboardOf(service, dataDir)
  const visit = await Visit.open(await openBrowser(t), url)
  await logIn(visit, token)
  // If blocks come faster than they are read, a witness may come too late for one.
  await visit.see(
    /gate \(default\)\s+ok, for \d+ s\s+Head\s+\d+[\s\S]*Source\s+a gateway to nodes\s+Verification\s+[^\n]+ proved; calls executed\s+Stored state\s+current by (?:witnesses|proofs), [\d.]+ (?:[KM]i)?B\s[\s\S]*Upstreams[\s\S]*answers\s/,
  )
  t.strictSame(visit.faults, [])
})
