/** A node with the Beacon API over real HTTP, of a simulated chain. A test makes it lie, stall and fail. */
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fine, type Weather } from '../upstream/weatherNode.js'
import { type Sent, type SimulatedChain, toJson, type UpdateParts } from './simulatedChain.js'

/** A value as it is sent, or one that may be sent in SSZ. */
export type Found = Sent | Sent[] | Plain | undefined

/** Name and data of an event of the Beacon API. */
type Event = readonly [name: string, data: unknown]

/** The answers of beacon nodes. */
export interface BeaconAnswers {
  /** Undefined: the node does not have it. `send` changes data that may be sent in SSZ. */
  find(name: string, query: URLSearchParams, send: (sent: Sent) => Sent): Found
  /** Events about the newest block; absent: the nodes send none. */
  events?(): readonly Event[]
}

/** Data of the nodes of one chain for light clients, which several may share. */
export class BeaconView implements BeaconAnswers {
  readonly chain: SimulatedChain
  /** The newest update of each kind; if absent, the node has none. */
  optimistic: UpdateParts | undefined
  finality: UpdateParts | undefined
  /** The best update of each period. */
  readonly updates = new Map<number, UpdateParts>()
  /** Slots by the roots of their blocks, of which there are bootstraps. */
  readonly checkpoints = new Map<string, number>()
  /** Slots of whole blocks by their roots, the newest last. */
  readonly blocks = new Map<string, number>()

  /** Signatures take a while, and the same ones are often requested. */
  readonly #sent = new Map<string, Sent>()

  constructor(chain: SimulatedChain) {
    this.chain = chain
  }

  update(parts: UpdateParts): Sent {
    const key = JSON.stringify(parts)
    const sent = this.#sent.get(key) ?? this.chain.update(parts)
    this.#sent.set(key, sent)
    return sent
  }

  /** Makes the block of a slot one that light clients may begin at, and gives its root, hex. */
  checkpoint(slot: number): string {
    const root = this.#rootOf(slot)
    this.checkpoints.set(root, slot)
    return root
  }

  find(name: string, query: URLSearchParams, send: (sent: Sent) => Sent): Found {
    const { chain, checkpoints, updates, optimistic, finality } = this
    const last = name.split('/').at(-1) ?? ''
    switch (name.replace(/0x.*/, '')) {
      case '/eth/v1/beacon/genesis': {
        const { genesisTime, genesisValidatorsRoot } = chain.network
        const root = `0x${Buffer.from(genesisValidatorsRoot).toString('hex')}`
        return { plain: { genesis_time: String(genesisTime), genesis_validators_root: root } }
      }
      case '/eth/v1/config/spec':
        return { plain: specOf(chain) }
      case '/eth/v1/beacon/light_client/bootstrap/': {
        const slot = checkpoints.get(last)
        return slot === undefined ? undefined : send(chain.bootstrap(slot))
      }
      case '/eth/v1/beacon/light_client/updates': {
        const first = Number(query.get('start_period'))
        const periods = Array.from({ length: Number(query.get('count')) }, (_, index) => first + index)
        return periods.flatMap((period) => {
          const parts = updates.get(period)
          return parts === undefined ? [] : [send(this.update(parts))]
        })
      }
      case '/eth/v1/beacon/light_client/optimistic_update':
        return optimistic && send(this.update({ ...optimistic, kind: 'optimisticUpdate' }))
      case '/eth/v1/beacon/light_client/finality_update':
        return finality && send(this.update({ ...finality, kind: 'finalityUpdate' }))
      case '/eth/v1/beacon/headers/head': {
        const head = [...this.blocks].at(-1)
        return head && { plain: headerJson(chain, ...head) }
      }
      case '/eth/v2/beacon/blocks/': {
        const slot = this.blocks.get(last)
        const block = slot === undefined ? undefined : chain.block(slot)
        return block && { plain: { message: block.message, signature: noSignature }, version: block.form }
      }
      default:
        return undefined
    }
  }

  /** Serves the whole block of a slot, which is the head. */
  showBlock(slot: number): void {
    this.blocks.set(this.#rootOf(slot), slot)
  }

  events(): Event[] {
    const { chain, blocks, optimistic, finality } = this
    const events: Event[] = []
    const add = (name: string, kind: 'finalityUpdate' | 'optimisticUpdate', parts?: UpdateParts) => {
      if (parts === undefined) return
      const { form, json } = this.update({ ...parts, kind })
      events.push([name, { version: form, data: json }])
    }
    add('light_client_finality_update', 'finalityUpdate', finality)
    add('light_client_optimistic_update', 'optimisticUpdate', optimistic)
    const head = [...blocks].at(-1)
    if (head !== undefined) {
      const [block, slot] = head
      events.push(['head', { slot: String(slot), block, state: toJson(chain.beacon(slot).stateRoot) }])
    }
    return events
  }

  #rootOf(slot: number): string {
    return `0x${Buffer.from(this.chain.root(slot)).toString('hex')}`
  }
}

/** Members of `/eth/v1/config/spec` with a network's forks. */
export function specOf({ network }: SimulatedChain): Record<string, string> {
  const never = '18446744073709551615'
  const forks = network.forks.flatMap(({ name, epoch, version }) => [
    [`${name.toUpperCase()}_FORK_EPOCH`, String(epoch)],
    [`${name.toUpperCase()}_FORK_VERSION`, `0x${Buffer.from(version).toString('hex')}`],
  ])
  return {
    SECONDS_PER_SLOT: '12',
    SLOTS_PER_EPOCH: '32',
    HEZE_FORK_EPOCH: never,
    ...Object.fromEntries(forks),
  }
}

type Change = (sent: Sent, path: string) => Sent

export class BeaconServer<V extends BeaconAnswers = BeaconView> {
  view: V
  weather: (path: string) => Weather = () => fine
  /** The change of each answer. */
  change: Change = (sent) => sent
  /** Whether the node has SSZ; otherwise it has only JSON. */
  hasSsz = true
  /** Requested paths. */
  readonly asked: string[] = []
  readonly #streams = new Set<ServerResponse>()
  #server: Server | undefined
  #port = 0

  constructor(view: V) {
    this.view = view
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** Listens; after {@link stop} at the same port. */
  async start(): Promise<void> {
    const server = createServer((request, response) => {
      const path = request.url ?? ''
      this.asked.push(path)
      this.#serve(path, this.hasSsz && /octet-stream/.test(request.headers.accept ?? ''), response)
    })
    this.#server = server
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (server.address() as AddressInfo).port
  }

  /** Sends the events of the newest block, and what is signed of it, to all listeners. */
  announce(): void {
    for (const [name, data] of this.view.events?.() ?? [])
      for (const stream of this.#streams) stream.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  #listen(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    this.#streams.add(response)
    response.on('close', () => this.#streams.delete(response))
  }

  async stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined) return
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }

  #serve(path: string, isSsz: boolean, response: ServerResponse): void {
    const weather = this.weather(path)
    if (weather.kind === 'silent') return
    if (weather.kind === 'drop') return void response.socket?.destroy()
    if (weather.kind === 'status') {
      response.writeHead(weather.status, weather.headers)
      return void response.end(weather.body ?? '')
    }
    const [name = '', query = ''] = path.split('?')
    if (name === '/eth/v1/events') return this.#listen(response)
    const found = this.view.find(name, new URLSearchParams(query), (sent) => this.change(sent, name))
    if (found === undefined) return void response.writeHead(404).end('{"code":404,"message":"not found"}')
    const { type, body } = Array.isArray(found) ? renderList(found, isSsz) : renderOne(found, isSsz)
    response.writeHead(200, { 'content-type': type, 'content-length': body.length })
    if (weather.kind === 'half')
      response.write(body.subarray(0, body.length >> 1), () => response.socket?.destroy())
    else if (weather.kind === 'drip') response.write(body.subarray(0, 1))
    else response.end(body)
  }
}

/** Signature of a proposer, which light clients do not check. */
const noSignature = `0x${'00'.repeat(96)}`

function headerJson(chain: SimulatedChain, root: string, slot: number) {
  return { root, canonical: true, header: { message: toJson(chain.beacon(slot)), signature: noSignature } }
}

/** Data that only JSON has. */
interface Plain {
  readonly plain: unknown
  readonly version?: string
}

function renderOne(found: Sent | Plain, isSsz: boolean) {
  if ('plain' in found) return json({ version: found.version, data: found.plain })
  return isSsz ? ssz(Buffer.from(found.ssz)) : json({ version: found.form, data: found.json })
}

function renderList(found: readonly Sent[], isSsz: boolean) {
  if (!isSsz) return json(found.map((each) => ({ version: each.form, data: each.json })))
  const chunks = found.flatMap((each) => {
    const length = Buffer.alloc(8)
    length.writeUInt32LE(each.ssz.length + 4)
    return [length, Buffer.from('f0f0f0f0', 'hex'), each.ssz]
  })
  return ssz(Buffer.concat(chunks))
}

const json = (value: unknown) => ({ type: 'application/json', body: Buffer.from(JSON.stringify(value)) })
const ssz = (body: Buffer) => ({ type: 'application/octet-stream', body })
