// @shares
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import t from 'tap'
import { TlsWatch } from '../../../../src/operation/process/tlsWatch.js'
import { waitFor } from '../../../library/until.js'
import { makeCertificate, withoutOpenssl } from '../../../service/certificates.js'

t.test(
  'a certificate that is replaced is noticed, even between the start of a server and the first look',
  { skip: withoutOpenssl },
  async (t) => {
    const folder = t.testdir()
    const first = makeCertificate(folder, 'first')
    const second = makeCertificate(folder, 'second')
    const files = { cert: join(folder, 'served.pem'), key: join(folder, 'served.key') }
    const install = ({ cert, key }: { readonly cert: string; readonly key: string }) => {
      copyFileSync(cert, files.cert)
      copyFileSync(key, files.key)
    }
    const said: string[] = []
    const log = pino({}, { write: (line) => said.push(line) })
    let renewals = 0
    const watch = new TlsWatch(log, () => renewals++)
    // A timer keeps the process alive, because the watch does not.
    const alive = setInterval(() => undefined, 1_000)
    install(first)
    watch.follow(files)
    install(second)
    await waitFor('the first look', () => renewals === 1)
    t.strictSame(said, [], 'nothing is known to be new')
    install(first)
    await waitFor('the other certificate', () => said.some((line) => line.includes('the new certificate')))
    t.equal(renewals, 2)
    copyFileSync(second.key, files.key)
    await waitFor('a warning', () => said.some((line) => line.includes('the former certificate stays')))
    t.equal(renewals, 2)
    watch.follow(undefined)
    clearInterval(alive)
  },
)
