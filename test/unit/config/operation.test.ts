/** Faults of the settings for operation: host names, proxies, TLS, the time to stop, the log. */
import { join } from 'node:path'
import t from 'tap'
import { resolveServeConfig } from '../../../src/config/config.js'
import { refusal, writeConfig } from './folder.js'

t.test('each fault is named', async (t) => {
  const text = refusal(t.testdir(), {
    allowedHosts: ['https://a.example', '*'],
    trustedProxies: ['10.0.0.0/8', '10.0.0.0/33', '::1/129', 'proxy.example', '::1/64/1'],
    drainDelayMs: 5_000,
    graceMs: 7_999,
    tls: { cert: 'nowhere.pem', key: '' },
    logStyle: 'poem',
    logSample: -1,
  })
  for (const line of [
    'allowedHosts[0]: expected a host name without scheme and port, or "*"',
    'trustedProxies[1]: expected an IP address, or a network such as "10.0.0.0/8"',
    'trustedProxies[2]: expected an IP address',
    'trustedProxies[3]: expected an IP address',
    'trustedProxies[4]: expected an IP address',
    'graceMs: expected at least 3000 more than drainDelayMs (5000), got 7999',
    'tls.cert: there is no file DIR/nowhere.pem',
    'tls.key: expected the path of a PEM file',
    'logStyle: expected one of numbers, words, got "poem"',
    'logSample: expected an integer from 0 to 1000000000, got -1',
  ]) {
    t.match(text, line)
  }
  t.notMatch(text, 'trustedProxies[0]')
})

t.test('the grace period follows the longest request where none is set', async (t) => {
  const config = writeConfig(t.testdir(), { drainDelayMs: 1_000, limits: { requestMsMax: 2_000 } })
  t.match(resolveServeConfig({ config }), { drainDelayMs: 1_000, graceMs: 8_000 })
})

t.test('paths of a certificate are relative to the file', async (t) => {
  const folder = t.testdir({ 'a.pem': '', 'a.key': '' })
  const config = writeConfig(folder, { tls: { cert: 'a.pem', key: 'a.key' } })
  t.strictSame(resolveServeConfig({ config }).tls, {
    cert: join(folder, 'a.pem'),
    key: join(folder, 'a.key'),
  })
})
