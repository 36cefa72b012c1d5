// @shares
/** `tls` of the configuration: the addresses that are printed, and certificates that are replaced on disk. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t from 'tap'
import { makeFolder } from '../../library/folder.js'
import { once, waitFor } from '../../library/until.js'
import { makeCertificate, withoutOpenssl } from '../../service/certificates.js'
import { runProgram, writeConfig } from '../../service/program.js'
import { copyDemo } from '../../service/servedDemo.js'
import { startService } from '../../service/service.js'

/** Fingerprint of the certificate that a new connection gets. */
async function shownAt(port: number): Promise<string | undefined> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { fingerprint256 } = socket.getPeerCertificate()
  socket.destroy()
  return fingerprint256
}

for (const [transport, edges] of [
  ['uws', 2],
  ['node', 1],
] as const) {
  const skip = withoutOpenssl || (process.platform !== 'linux' && 'several edges need Linux')
  t.test(`${transport}, edges: ${edges}`, { skip }, async (t) => {
    const { folder, config } = copyDemo(t, { edges, tls: { cert: 'served.pem', key: 'served.key' } })
    const first = makeCertificate(folder, 'first')
    const second = makeCertificate(folder, 'second')
    const install = ({ cert, key }: { readonly cert: string; readonly key: string }) => {
      copyFileSync(cert, join(folder, 'served.pem'))
      copyFileSync(key, join(folder, 'served.key'))
    }
    install(first)
    const service = await startService(['--config', config, '--no-auth', '--transport', transport])
    t.teardown(() => service.stop())
    const { protocol, port } = new URL(service.origin)
    t.equal(protocol, 'https:')
    await waitFor("the WebSocket's address", () =>
      service.lines.some((line) => line.includes(`wss://127.0.0.1:${port}/ws`)),
    )
    t.equal(await shownAt(Number(port)), first.fingerprint)
    /** Whether all of many connections, which several edges share, get this certificate. */
    const isShown = async (fingerprint: string) => {
      const shown = await Promise.all(Array.from({ length: 16 }, () => shownAt(Number(port))))
      return shown.every((found) => found === fingerprint)
    }
    install(second)
    await waitFor('the second certificate', () => isShown(second.fingerprint).catch(() => false))
    copyFileSync(first.key, join(folder, 'served.key'))
    const before = service.said.err.length
    service.process.kill('SIGHUP')
    await waitFor('the end of the reload', () =>
      service.said.err.slice(before).includes('nothing is reloaded: the certificate'),
    )
    t.ok(await isShown(second.fingerprint))
  })
}

t.test(
  'files that are not there, or do not fit, are named at the start',
  { skip: withoutOpenssl },
  async (t) => {
    const folder = makeFolder(t)
    const first = makeCertificate(folder, 'first')
    const second = makeCertificate(folder, 'second')
    const run = async (tls: object) => {
      const config = writeConfig(folder, { dataDir: join(folder, 'data'), tls })
      return runProgram(['serve', '--config', config, '--port', '0'])
    }
    const missing = await run({ cert: 'nowhere.pem', key: first.key })
    t.equal(missing.status, 2)
    t.match(missing.err, `tls.cert: there is no file ${join(folder, 'nowhere.pem')}`)
    const wrong = await run({ cert: first.cert, key: second.key })
    t.equal(wrong.status, 1)
    t.match(wrong.err, /^tidegate: the certificate .* and the key .* cannot be used: .*mismatch/m)
  },
)
