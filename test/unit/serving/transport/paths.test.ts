import t from 'tap'
import { parsePath, parseSocketPath, redactPath } from '../../../../src/serving/transport/paths.js'

t.test('paths name a network and a key', async (t) => {
  const expected: [path: string, network: string | undefined, key: string | undefined][] = [
    ['/', undefined, undefined],
    ['/v3', undefined, undefined],
    ['/v3/', undefined, undefined],
    ['/v3/k', undefined, 'k'],
    ['/v3/k/', undefined, 'k'],
    ['/v3/v3', undefined, 'v3'],
    ['/net', 'net', undefined],
    ['/net/', 'net', undefined],
    ['/net/v3', 'net', undefined],
    ['/net/v3/', 'net', undefined],
    ['/net/v3/k', 'net', 'k'],
    ['/net/v3/k/', 'net', 'k'],
    ['/net/v3/%6b', 'net', '%6b'],
    ['/n%65t/v3/k', 'n%65t', 'k'],
  ]
  for (const [path, network, key] of expected) t.same(parsePath(path), { network, key }, path)
  for (const path of [
    '',
    '*',
    'v3/k',
    '//v3/k',
    '/v3//k',
    '/v3/k//',
    '/v3/k/x',
    '/net/v4/k',
    '/net/x',
    '/net/v3/k/x',
    '/net//v3/k',
  ]) {
    t.equal(parsePath(path), undefined, path)
  }
})

t.test('paths of WebSockets name a network and a key', async (t) => {
  const expected: [path: string, network: string | undefined, key: string | undefined][] = [
    ['/ws', undefined, undefined],
    ['/ws/', undefined, undefined],
    ['/ws/v3', undefined, undefined],
    ['/ws/v3/', undefined, undefined],
    ['/ws/v3/k', undefined, 'k'],
    ['/ws/v3/k/', undefined, 'k'],
    ['/ws/v3/ws', undefined, 'ws'],
    ['/net/ws', 'net', undefined],
    ['/net/ws/', 'net', undefined],
    ['/net/ws/v3', 'net', undefined],
    ['/net/ws/v3/%6b/', 'net', '%6b'],
    ['/ws/ws/v3/k', 'ws', 'k'],
  ]
  for (const [path, network, key] of expected) t.same(parseSocketPath(path), { network, key }, path)
  for (const path of [
    '',
    '/',
    'ws',
    '//ws',
    '/wss',
    '/v3/k',
    '/ws/k',
    '/ws//v3/k',
    '/ws/v3//k',
    '/ws/v3/k//',
    '/ws/v3/k/x',
    '/net/x/ws',
    '/ws/v4/k',
    '/WS/v3/k',
  ]) {
    t.equal(parseSocketPath(path), undefined, path)
  }
})

t.test('a path in a log shows no key', async (t) => {
  for (const path of [
    '/v3/secret',
    '/net/v3/secret',
    '/secret',
    '/v3/secret/x',
    '/x/secret',
    'secret',
    '/secret/v3',
    '/ws/v3/secret',
    '/secret/ws/v3/secret',
    '/ws/secret',
    '/ws/v3/secret/x',
  ]) {
    t.notMatch(redactPath(path), /secret/, path)
  }
  t.equal(redactPath('/net/v3/secret'), '/(network)/v3/(key)')
  t.equal(redactPath('/net/ws/v3/secret'), '/(network)/ws/v3/(key)')
  t.equal(redactPath('/ws'), '/ws')
})
