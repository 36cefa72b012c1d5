import t from 'tap'
import { isOwnHost } from '../../../../src/operation/admin/apiRequest.js'
import { findRoute } from '../../../../src/operation/admin/routes.js'

const names = new Set(['admin.example.org'])

t.test('addresses, localhost and the listed names are own hosts', async (t) => {
  for (const host of [
    '127.0.0.1',
    '127.0.0.1:8550',
    '[::1]:8550',
    '[::1]',
    '10.0.0.7:80',
    'localhost',
    'LocalHost:8550',
    'admin.example.org',
    'ADMIN.example.org:8550',
  ]) {
    t.ok(isOwnHost(host, names), host)
  }
})

t.test('other names are not, whatever address they resolve to', async (t) => {
  for (const host of [
    undefined,
    '',
    'evil.example',
    'evil.example:8550',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    'admin.example.org.evil.example',
    '127.0.0.1:8550:8550x',
    'x[::1]',
  ]) {
    t.notOk(isOwnHost(host, names), String(host))
  }
})

t.test('a route is found by its path and method', async (t) => {
  t.match(findRoute('/api/keys', 'GET'), { route: { path: '/api/keys' }, id: '' })
  t.match(findRoute('/api/keys', 'HEAD'), { route: { path: '/api/keys', method: 'GET' } })
  t.match(findRoute('/api/networks', 'POST'), { allow: ['GET', 'HEAD'] })
  for (const path of ['/', '/api', '/api/', '/api/keys/', '/api/key', '/api/networks/x', '/__proto__']) {
    t.equal(findRoute(path, 'GET'), undefined, path)
  }
})
