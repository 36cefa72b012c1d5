import { connect } from 'node:net'
import t from 'tap'
import { OperatorError } from '../../../../src/primitives/faults.js'
import {
  chooseTransport,
  type System,
  whyNotLoaded,
} from '../../../../src/serving/transport/chooseTransport.js'
import { once } from '../../../library/until.js'
import { transports } from '../../../transport/eachTransport.js'
import { goodKey, startTestServer } from '../../../unit/serving/transport/testServer.js'

const debian: System = { node: 'v22.23.3', platform: 'linux', arch: 'x64', glibc: '2.36' }
const head =
  'Error: This version of uWS.js supports only Node.js versions 16, 18, 20, 21, 22, 24 and 25 on (glibc) Linux, macOS and Windows, on Tier 1 platforms (https://github.com/nodejs/node/blob/master/BUILDING.md#platform-list).\n\n'

t.test('why uWebSockets.js cannot be loaded is told from its message', async (t) => {
  const cases: [message: string, system: System, why: string][] = [
    [
      "Error: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by /app/uws_linux_x64_127.node)",
      debian,
      'its binary for Node.js v22.23.3 needs glibc 2.38, this system has 2.36',
    ],
    [
      "Error: Cannot find module './uws_linux_x64_147.node'\nRequire stack:\n- /app/uws.js",
      { ...debian, node: 'v26.10.0' },
      'it has no binary for Node.js v26.10.0 on linux x64',
    ],
    [
      'Error: Error loading shared library ld-linux-x86-64.so.2: No such file or directory',
      { ...debian, glibc: undefined },
      'its binaries need glibc, which this system lacks',
    ],
    ['Error: the disk is gone', debian, 'Error: the disk is gone'],
  ]
  for (const [message, system, why] of cases) t.equal(whyNotLoaded(head + message, system), why)
})

t.test(
  'what is chosen is what can be loaded, and a choice that cannot be is told in a sentence',
  async (t) => {
    const [first] = transports
    for (const isLoopback of [true, false]) {
      const node = await chooseTransport('node', isLoopback)
      t.same([node.transport.name, node.notice], ['node', undefined])
    }
    if (first?.name === 'uws') {
      t.equal((await chooseTransport('uws', true)).transport.name, 'uws')
      t.equal((await chooseTransport('auto', true)).transport.name, 'uws')
      return
    }
    const auto = await chooseTransport('auto', true)
    t.equal(auto.transport.name, 'node')
    t.match(auto.notice, /^uWebSockets\.js cannot be loaded: .*; serving on node:http/)
    t.notMatch(auto.notice, '\n')
    await t.rejects(chooseTransport('uws', true), OperatorError)
  },
)

t.test(
  'a build that refuses requests cut in two is known, and serves other machines on demand alone',
  async (t) => {
    const [first] = transports
    if (first?.name !== 'uws') return t.pass('uWebSockets.js cannot be loaded here')
    const { server, port } = await startTestServer({ context: { transport: first } })
    t.teardown(() => server.close())
    const client = connect({ host: '127.0.0.1', port, noDelay: true })
    t.teardown(() => client.destroy())
    const request = `GET /v3/${goodKey} HTTP/1.1\r\nhost: a\r\n\r\n`
    client.write(request)
    await once(client, 'data')
    const answer = once(client, 'data')
    await new Promise((resolve) => client.write(request.slice(0, 7), resolve))
    for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate)
    client.write(request.slice(7))
    const refuses = String((await answer)[0]).includes(' 505 ')
    t.equal((await import('../../../../src/serving/transport/uws/library.js')).isFaulty, refuses)
    t.equal((await chooseTransport('auto', true)).notice, undefined)
    const auto = await chooseTransport('auto', false)
    const uws = await chooseTransport('uws', false)
    t.same([auto.transport.name, uws.transport.name], [refuses ? 'node' : 'uws', 'uws'])
    for (const { notice } of [auto, uws]) {
      if (refuses) t.match(notice, /505 to requests .* docs\/scale\.md#transports/)
      else t.equal(notice, undefined)
    }
  },
)
