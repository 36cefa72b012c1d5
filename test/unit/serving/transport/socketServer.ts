import type { Test } from 'tap'
import type { HttpServerOptions } from '../../../../src/serving/transport/http.js'
import type { SocketLimits } from '../../../../src/serving/transport/socket.js'
import { refusedUpgrade, SocketClient } from '../../../transport/socketClient.js'
import { goodKey, startTestServer, type TestServer } from './testServer.js'

export const path = `/ws/v3/${goodKey}`

export interface SocketTestServer extends TestServer {
  connect(to?: string, headers?: Record<string, string>): Promise<SocketClient>
  refused(to: string, headers?: Record<string, string>): ReturnType<typeof refusedUpgrade>
}

/** Starts a real server, with clients that disconnect when the test ends. */
export async function withSocketServer(
  t: Test,
  socketLimits: Partial<SocketLimits> = {},
  options: Partial<HttpServerOptions> = {},
): Promise<SocketTestServer> {
  const server = await startTestServer(t, { closeMsMax: 500 }, options, socketLimits)
  const clients: SocketClient[] = []
  t.teardown(async () => {
    for (const client of clients) client.cut()
    await server.server.close()
  })
  const url = `ws://127.0.0.1:${server.port}`
  return {
    ...server,
    async connect(to = path, headers = {}) {
      const client = await SocketClient.connect(url + to, { headers })
      clients.push(client)
      return client
    },
    refused: (to, headers = {}) => refusedUpgrade(url + to, { headers }),
  }
}
