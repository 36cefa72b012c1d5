/** Connections that come in a burst while the thread is busy. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { queuedConnectionsMax } from '../../../../src/serving/transport/wire.js'
import { freePort } from '../../../service/ports.js'
import { test } from '../../../transport/eachTransport.js'
import { withServer } from '../../../unit/serving/transport/testServer.js'

/** More than one queue of uWebSockets.js takes (512), and fewer than most processes may have open files. */
const burst = 800

/** Opens connections one after the other, and keeps them. Fails if one is not open within a minute. */
const client = `
  const { connect } = require('node:net')
  const [port, count] = process.argv.slice(1).map(Number)
  const open = (left) => {
    if (left === 0) process.exit(0)
    const timer = setTimeout(() => process.exit(1), 60_000)
    const socket = connect(port, '127.0.0.1', () => {
      clearTimeout(timer)
      open(left - 1)
    })
    socket.on('error', () => process.exit(2))
  }
  open(count)
`

function queueOfSystem(): number {
  try {
    return Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'))
  } catch {
    return 0
  }
}

if (queueOfSystem() < queuedConnectionsMax) {
  t.pass('skipped: this system queues fewer connections')
} else {
  test('a burst of connections waits while the thread is busy, and none is lost', async (t) => {
    const port = await freePort()
    await withServer(t, {}, { port })
    // Nothing is accepted until it returns.
    const { status, stderr } = spawnSync(process.execPath, ['-e', client, String(port), String(burst)], {
      encoding: 'utf8',
    })
    t.equal(status, 0, stderr)
  })
}
