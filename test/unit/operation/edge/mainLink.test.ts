import { EventEmitter } from 'node:events'
import type { MessagePort } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { type SourceState, upToDate } from '../../../../src/operation/edge/chainFeed.js'
import { MainLink } from '../../../../src/operation/edge/mainLink.js'
import type { EdgeCommand, EdgeMessage } from '../../../../src/operation/edge/messages.js'
import { FaultError } from '../../../../src/primitives/faults.js'
import { decodeArgs, encodeResult, encodeThrown } from '../../../../src/serving/pool/messages.js'
import { RequestContext } from '../../../../src/serving/rpc/contexts/requestContext.js'
import { inTime, once } from '../../../library/until.js'
import { shareKept } from '../../primitives/youngObjects.js'

/** An edge's link, and the end of it that the main thread has. */
function connect(t: Test): { main: MessagePort; link: MainLink; say(command: EdgeCommand): void } {
  const { port1, port2 } = new MessageChannel()
  const main = port1 as unknown as MessagePort
  t.teardown(() => main.close())
  return {
    main,
    link: new MainLink(port2 as unknown as MessagePort, new Map()),
    say: (command) => main.postMessage(command),
  }
}

async function nextMessage(main: MessagePort): Promise<EdgeMessage> {
  const [message] = (await once(main, 'message')) as [EdgeMessage]
  return message
}

const faultOf = (thrown: unknown) => thrown instanceof FaultError && thrown.fault

t.test('where a source stands is told at once, and to whoever listens later', async (t) => {
  const { link, say } = connect(t)
  const state = { syncing: { startingBlock: 3, number: 5 } }
  const early: SourceState[] = []
  const late: SourceState[] = []
  const heard = new Promise<void>((resolve) => {
    link.feedOf('demo').listen((found) => {
      early.push(found)
      resolve()
    })
  })
  say({ type: 'moved', network: 'other', state: upToDate })
  say({ type: 'moved', network: 'demo', state })
  await inTime('the first listener to hear', heard)
  const unlisten = link.feedOf('demo').listen((found) => late.push(found))
  t.strictSame([early, late], [[state], [state]])
  unlisten()
  const again = new Promise((resolve) =>
    link.feedOf('demo').listen((found) => found.syncing ?? resolve(found)),
  )
  say({ type: 'moved', network: 'demo', state: upToDate })
  await inTime('a listener to hear again', again)
  t.strictSame([early, late], [[state, upToDate], [state]])
})

t.test('a call is answered, or fails as it failed over there', async (t) => {
  const { main, link, say } = connect(t)
  const first = link.jobsOf('demo').run('prove', { value: 2n ** 70n } as never, new RequestContext())
  const asked = await nextMessage(main)
  if (asked.type !== 'job') throw new Error(asked.type)
  t.match(asked, { name: 'prove', network: 'demo' })
  t.strictSame(decodeArgs(asked.args), { value: 2n ** 70n })
  const second = link.call('submit', [])
  const other = await nextMessage(main)
  if (other.type !== 'call') throw new Error(other.type)
  const fault = { kind: 'ServerBusy', retryAfterMs: 5 } as const
  say({ type: 'reply', serial: other.serial, reply: encodeThrown(new FaultError(fault)), cpuMs: 0 })
  say({ type: 'reply', serial: asked.serial, reply: encodeResult({ proof: 7 }), cpuMs: 0 })
  t.strictSame(await second.catch(faultOf), fault)
  t.strictSame((await first) as unknown, { proof: 7 })
})

t.test('a call says whose it is', async (t) => {
  const { main, link } = connect(t)
  const caller = new RequestContext(undefined, { key: { id: '0123456789ab' } })
  link
    .jobsOf('demo')
    .run('prove', {} as never, caller)
    .catch(() => undefined)
  t.match(await nextMessage(main), { type: 'job', name: 'prove', keyId: '0123456789ab' })
  link.call('health', ['demo']).catch(() => undefined)
  t.match(await nextMessage(main), { type: 'call', name: 'health', keyId: undefined })
})

t.test('a call whose caller goes is cancelled, and one of a caller who is gone never made', async (t) => {
  const { main, link } = connect(t)
  const caller = new RequestContext()
  link.call('submit', [], caller).catch(() => undefined)
  const asked = await nextMessage(main)
  caller.finish()
  t.strictSame(await nextMessage(main), { type: 'cancel', serial: (asked as { serial?: number }).serial })
  t.strictSame(await link.call('submit', [], caller).catch(faultOf), { kind: 'RequestTimedOut' })
})

t.test('who asked is no longer in memory after the next collection of young objects', async (t) => {
  const port = Object.assign(new EventEmitter(), { postMessage: () => undefined })
  const link = new MainLink(port as unknown as MessagePort, new Map())
  const kept = shareKept((content, index) => {
    void link.call('filter', [], Object.assign(new RequestContext(), { content }))
    if (index < 64) return
    const reply = encodeResult(undefined)
    port.emit('message', { type: 'reply', serial: index - 64, reply, cpuMs: 0 } satisfies EdgeCommand)
  })
  t.ok(kept < 0.6, `${kept} of all are kept`)
})
