// @shares
// @installs
/** The files of `package`, as far as they can be checked without Docker and systemd. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'
import { resolveServeConfig } from '../../src/operation/config/config.js'
import { packageRoot } from '../../src/primitives/packageRoot.js'

const folder = join(packageRoot(), 'package')
const read = (path: string) => readFileSync(join(folder, path), 'utf8')

const withoutSystemd =
  spawnSync('systemd-analyze', ['--version']).error !== undefined && 'there is no systemd-analyze'

t.test('the unit is valid, and exposes little', { skip: withoutSystemd }, async (t) => {
  const unit = join(folder, 'systemd/tidegate.service')
  const verified = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' })
  t.notMatch(verified.stderr, /tidegate\.service:\d+:/)
  const rated = spawnSync('systemd-analyze', ['security', '--offline=true', unit], { encoding: 'utf8' })
  const exposure = Number(/Overall exposure level for tidegate\.service: ([\d.]+)/.exec(rated.stdout)?.[1])
  t.ok(exposure < 2, `exposure ${exposure} of 10`)
})

t.test('the unit waits for what the server tells, reloads it and watches it', async (t) => {
  const unit = read('systemd/tidegate.service')
  const setting = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1]
  t.equal(setting('Type'), 'notify')
  // The messages come from systemd-notify, which is another process.
  t.equal(setting('NotifyAccess'), 'all')
  t.equal(setting('ExecReload'), '/bin/kill -HUP $MAINPID')
  const { graceMs } = resolveServeConfig({})
  t.ok(Number(setting('TimeoutStopSec')) * 1_000 > graceMs, `${graceMs} ms`)
  // An edge counts as stuck after 10 s, and messages come each half of this time.
  t.ok(Number(setting('WatchdogSec')) >= 30)
})

t.test('the page of the dashboard has the licence of what it was made with beside it', async (t) => {
  const { dependencies } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'))
  t.notOk('uplot' in dependencies, 'the page holds it')
  const licence = readFileSync(join(packageRoot(), 'dist/src/operation/admin/page/uplot.LICENSE'), 'utf8')
  t.match(licence, 'Copyright (c) 2022 Leon Sorokin')
})

t.test('the program has the licences of the packages that were joined to it beside it', async (t) => {
  for (const name of ['zod']) {
    t.match(readFileSync(join(packageRoot(), 'dist/chunks', `${name}.LICENSE`), 'utf8'), 'MIT License')
  }
})

t.test('the image copies files that are there, and starts the program of the package', async (t) => {
  const dockerfile = read('Dockerfile')
  const { bin } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'))
  t.ok(dockerfile.includes(`/opt/tidegate/${bin.tidegate} `))
  const copied = [...dockerfile.matchAll(/\/build\/(\S+)/g)].map(([, path = '']) => path)
  t.ok(copied.length > 5)
  for (const path of copied.filter((path) => path !== 'node_modules')) {
    t.ok(existsSync(join(packageRoot(), path)), path)
  }
})

t.test('the configuration of the Compose file is one, and its files are there', async (t) => {
  const config = resolveServeConfig({ config: join(folder, 'compose/tidegate.json') })
  t.match(config, { dataDir: '/var/lib/tidegate/data/live', admin: { host: '0.0.0.0', hosts: ['tidegate'] } })
  const mounts = [...read('compose/compose.yaml').matchAll(/^ +- (\.\.?\/[^:\n]+):/gm)]
  t.ok(mounts.length >= 5)
  for (const [, path = ''] of mounts) t.ok(existsSync(join(folder, 'compose', path)), path)
  const scraped = read('compose/prometheus.yml')
  t.ok(scraped.includes(join('/tidegate', config.node.adminToken.slice('/var/lib/tidegate/'.length))))
  t.equal(dirname(config.node.store), '/var/lib/tidegate/data/live/node')
})

t.test(
  'the Compose file of replicas has configurations of one feed, at their places in the image',
  async (t) => {
    const compose = read('compose/replicas.yaml')
    const load = (name: string) => resolveServeConfig({ config: join(folder, 'compose', name) })
    const writer = load('writer.json').networks[0]
    const replica = load('replica.json').networks[0]
    const source = writer?.source
    t.equal(source?.type, 'replay')
    t.match(replica?.source, { type: 'feed', url: writer?.publish?.url })
    t.equal(replica?.name, writer?.name)
    t.equal(replica?.genesisPath, writer?.genesisPath)
    // The image has the demo chain at the same place beside the configuration.
    const mounts = [
      ...compose.matchAll(/^ +- \.\/(\S+):\/opt\/tidegate\/package\/compose\/network\.json:ro$/gm),
    ]
    t.strictSame(
      mounts.map(([, name]) => name),
      ['writer.json', 'writer.json', 'replica.json', 'replica.json'],
    )
    t.match(compose, 'command: [serve, --config, /opt/tidegate/package/compose/network.json]')
    for (const path of [writer?.genesisPath, source?.type === 'replay' ? source.file : '']) {
      const inImage = relative(packageRoot(), path ?? '')
      t.ok(existsSync(join(packageRoot(), inImage)), inImage)
      t.match(read('Dockerfile'), `/build/${inImage} `)
    }
    const { hostname, username, password, pathname } = new URL(writer?.publish?.url ?? '')
    t.match(compose, new RegExp(`^  ${hostname}:\n(?: {4}.*\n)* {6}POSTGRES_USER: ${username}\n`, 'm'))
    t.equal(pathname, `/${username}`, 'the image makes a database of the name of its user')
    t.equal(password, '')
  },
)
