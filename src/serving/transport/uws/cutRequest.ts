import uWS from 'uWebSockets.js'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Long enough for a busy machine; over loopback the test takes a millisecond. */
const waitMsMax = 2_000

const request = 'POST /v3/key HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n'
const cutAt = 10

/**
 * Whether this build of uWebSockets.js answers a request line that arrives in two TCP segments with 505 and ends the
 * connection (uNetworking/uWebSockets issue 1776). Tests it over loopback; false where the test fails.
 */
export async function refusesCutRequests(): Promise<boolean> {
  const app = uWS.App()
  app.any('/*', (res) => {
    res.end()
  })
  const timeout = AbortSignal.timeout(waitMsMax)
  let client: Socket | undefined
  try {
    const port = await new Promise<number>((resolve, reject) =>
      app.listen('127.0.0.1', 0, (socket) =>
        socket === false ? reject(new Error('no port')) : resolve(uWS.us_socket_local_port(socket)),
      ),
    )
    client = connect({ host: '127.0.0.1', port, noDelay: true })
    // A whole request first: once it is answered, the server is reading from the connection.
    const whole = once(client, 'data', { signal: timeout })
    client.write(request)
    await whole
    const answer = once(client, 'data', { signal: timeout })
    answer.catch(() => undefined)
    await new Promise((resolve) => client?.write(request.slice(0, cutAt), resolve))
    // Data written to loopback can be read at once, so after a turn of the loop the server has read it.
    for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate)
    client.write(request.slice(cutAt))
    const [data] = (await answer) as [Buffer]
    return data.toString('latin1').startsWith('HTTP/1.1 505')
  } catch {
    return false
  } finally {
    client?.destroy()
    app.close()
  }
}
