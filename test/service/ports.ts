import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below the range from which systems assign ports to connections and to listeners on port 0 (Linux: from 32,768 on). A
 * port in that range might be taken by another test before it is used.
 */
const portMin = 10_000
const portEnd = 32_000

/** Different ports of the loopback address without a listener. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = randomInt(portMin, portEnd)
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue
      throw error
    }
    await once(server.close(), 'close')
    ports.add(port)
  }
  return [...ports]
}

export async function freePort(): Promise<number> {
  return (await freePorts(1))[0] as number
}
