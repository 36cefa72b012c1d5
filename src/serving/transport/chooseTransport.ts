/**
 * Chooses the HTTP and WebSocket library. uWebSockets.js takes a quarter of the CPU, so it is chosen if it loads.
 * Otherwise, and if only a build with a network fault loads, the choice is node:http and ws. Owns the sentence about
 * the choice for the operator.
 */
import { OperatorError } from '../../primitives/faults.js'
import type { Transport } from './wire.js'

interface Choice {
  readonly transport: Transport
  /** A sentence about the choice without its full stop; undefined if there is nothing to report. */
  readonly notice: string | undefined
}

const officialBuild = 'npm install uWebSockets.js@github:uNetworking/uWebSockets.js#v20.70.0'
/** The pair of the container. */
const fastPair = 'take Node.js 24 and glibc 2.38 or newer, as on Debian 13'
const slower = 'serving on node:http and ws, which take about four times the CPU for a cached read'
const fault =
  'of uWebSockets.js only a build loads here that answers 505 to requests that come in two packets'

/**
 * Loads the chosen library, for connections from this machine alone or also from others. Throws OperatorError if the
 * requested library cannot be loaded.
 */
export async function chooseTransport(
  wanted: 'auto' | Transport['name'],
  isLoopback: boolean,
): Promise<Choice> {
  const other = () => loadTransport('node')
  if (wanted === 'node') return { transport: await other(), notice: undefined }
  let transport: Transport
  try {
    transport = await loadTransport('uws')
  } catch (error) {
    const why = `uWebSockets.js cannot be loaded: ${whyNotLoaded(String(error), thisSystem())}`
    const advice = `${fastPair}; a later official build may have a binary for this pair (${officialBuild})`
    if (wanted === 'uws') {
      throw new OperatorError(`${why}. Choose transport node, or ${advice}.`)
    }
    return {
      transport: await other(),
      notice: `${why}; ${slower}. To change that, ${advice}`,
    }
  }
  const { isFaulty } = await import('./uws/library.js')
  // Over loopback no request arrives in parts.
  if (!isFaulty || isLoopback) return { transport, notice: undefined }
  if (wanted === 'uws') return { transport, notice: `${fault}; docs/scale.md#transports lists which do not` }
  return {
    transport: await other(),
    notice: `${fault}; ${slower}. docs/scale.md#transports lists which builds do not, and --transport uws takes this one`,
  }
}

export interface System {
  readonly node: string
  readonly platform: string
  readonly arch: string
  /** Version of glibc; undefined with another C library, as on Alpine. */
  readonly glibc: string | undefined
}

function thisSystem(): System {
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined
  const { version, platform, arch } = process
  return { node: version, platform, arch, glibc: report?.header?.glibcVersionRuntime }
}

/** The cause, extracted from the library's long error message. */
export function whyNotLoaded(message: string, { node, platform, arch, glibc }: System): string {
  const needed = /GLIBC_(\d+(?:\.\d+)+)/.exec(message)?.[1]
  if (needed !== undefined && glibc !== undefined) {
    return `its binary for Node.js ${node} needs glibc ${needed}, this system has ${glibc}`
  }
  if (/Cannot find module/.test(message)) return `it has no binary for Node.js ${node} on ${platform} ${arch}`
  if (platform === 'linux' && glibc === undefined) return 'its binaries need glibc, which this system lacks'
  return message.trim().split('\n').at(-1) ?? message
}

/** The only import of the libraries, so that the program runs even if uWebSockets.js cannot be loaded. */
export async function loadTransport(name: Transport['name']): Promise<Transport> {
  return name === 'node'
    ? (await import('./node/nodeWire.js')).nodeTransport
    : (await import('./uws/uwsWire.js')).uwsTransport
}
