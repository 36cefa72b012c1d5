import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Of systems' usual ranges, ports below those that connections and listeners on port 0 get by themselves (Linux from 32,768
 * on): such a one would be taken again by another test before it is used.
 */
const portMin = 10_000
const portEnd = 32_000

/** Ports of the loopback address on which nothing listens now, each another one. */
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
