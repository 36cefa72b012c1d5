import t from 'tap'
import { resolveServeConfig } from '../../../../src/operation/config/config.js'
import { settingsOf } from '../../../../src/operation/edge/settings.js'
import { writeConfig } from '../config/folder.js'

t.test('host names: all where keys are needed, own names where none is, or those listed', async (t) => {
  const allowed = (flags: object) => settingsOf(resolveServeConfig(flags)).allowedHosts
  t.equal(allowed({}), undefined)
  t.strictSame(allowed({ noAuth: true }), ['127.0.0.1'])
  const listed = writeConfig(t.testdir(), { allowedHosts: ['Proxy.Example'], host: 'localhost' })
  t.strictSame(allowed({ config: listed }), ['proxy.example', 'localhost'])
  t.strictSame(allowed({ config: listed, noAuth: true }), ['proxy.example', 'localhost'])
  t.equal(allowed({ config: writeConfig(t.testdir(), { allowedHosts: ['*'] }), noAuth: true }), undefined)
})
