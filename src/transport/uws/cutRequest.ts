import uWS from 'uWebSockets.js'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Long enough for a busy machine; loopback takes a millisecond. */
const waitMsMax = 2_000

const request = 'POST /v3/key HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n'
const cutAt = 10

/**
 * Whether this build takes a request line that comes in two TCP segments for one of another version of HTTP and ends
 * the connection with 505 (uNetworking/uWebSockets issue 1776). Asks itself, over loopback; says no where that fails.
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
    // A whole request first: once it is answered the connection is read from, so the next is met by a reader.
    const whole = once(client, 'data', { signal: timeout })
    client.write(request)
    await whole
    const answer = once(client, 'data', { signal: timeout })
    answer.catch(() => undefined)
    await new Promise((resolve) => client?.write(request.slice(0, cutAt), resolve))
    // What is written to loopback can be read at once: after a turn of the loop the server has.
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
