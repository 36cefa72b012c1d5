/** Faults of the settings for operation: host names, proxies, TLS, the time to stop, the log. */
import { join } from 'node:path'
import t from 'tap'
import { resolveServeConfig } from '../../../../src/operation/config/config.js'
import { refusal, writeConfig } from './folder.js'

t.test('each fault is named', async (t) => {
  const text = refusal(t.testdir(), {
    allowedHosts: ['https://a.example', '*'],
    admin: { hosts: ['a.example', 'https://a.example:1/'] },
    trustedProxies: ['10.0.0.0/8', '10.0.0.0/33', '::1/129', 'proxy.example', '::1/64/1'],
    drainDelayMs: 5_000,
    graceMs: 7_999,
    tls: { cert: 'nowhere.pem', key: '' },
    logStyle: 'poem',
    logSample: -1,
    traces: { endpoint: 'http://ann:secret@a.example/v1/traces', sample: -1, headersFile: 'none', key: 1 },
  })
  for (const line of [
    'allowedHosts[0]: expected a host name without scheme and port, or "*"',
    'admin.hosts[1]: expected a host name without scheme and port',
    'trustedProxies[1]: expected an IP address, or a network such as "10.0.0.0/8"',
    'trustedProxies[2]: expected an IP address',
    'trustedProxies[3]: expected an IP address',
    'trustedProxies[4]: expected an IP address',
    'graceMs: expected at least 3000 more than drainDelayMs (5000), got 7999',
    'tls.cert: there is no file DIR/nowhere.pem',
    'tls.key: expected the path of a PEM file',
    'logStyle: expected one of numbers, words, got "poem"',
    'logSample: expected an integer from 0 to 1000000000, got -1',
    'traces.endpoint: expected a URL of http or https, without a user and password: those are headers, for headersFile, got "http://a.example/…"',
    'traces.sample: expected an integer from 0 to 1000000000, got -1',
    'traces.headersFile: there is no file DIR/none',
    'traces.key: unknown key',
  ]) {
    t.match(text, line)
  }
  t.notMatch(text, 'trustedProxies[0]')
  t.notMatch(text, 'secret')
})

t.test('traces go to a URL of http or https, and are off where none is named', async (t) => {
  const folder = t.testdir({ headers: '' })
  const resolved = (traces: object) => resolveServeConfig({ config: writeConfig(folder, { traces }) }).traces
  for (const endpoint of ['https://a.example', 'http://[::1]:4318/v1/traces?a=b@c']) {
    t.strictSame(resolved({ endpoint, headersFile: 'headers' }), {
      endpoint,
      sample: 1_000,
      parentsPerSecond: 100,
      headersFile: join(folder, 'headers'),
    })
  }
  for (const endpoint of ['a.example', 'ftp://a.example/', 'http://ann@a.example/', 'http://:x@a.example'])
    t.match(refusal(t.testdir(), { traces: { endpoint } }), 'traces.endpoint: expected a URL of http')
  t.equal(resolveServeConfig({ config: writeConfig(folder, {}) }).traces, undefined)
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
