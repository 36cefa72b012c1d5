// @shares
import { spawn } from 'node:child_process'
import { EventEmitter } from 'node:events'
import t from 'tap'
import { inTime, once, until, waitFor } from '../library/until.js'

const untilUrl = new URL('../library/until.js', import.meta.url).href

/** The errors of waits that last at most 0.05 s. */
const source = `
  import { spawn } from 'node:child_process'
  import { inTime, once, until, waitFor } from ${JSON.stringify(untilUrl)}
  const child = spawn('sleep', ['1000'])
  const never = new Promise(() => undefined)
  const waits = [
    () => until(() => child.pid === 0),
    () => waitFor('a late answer', () => never),
    () => inTime('a promise', never),
    () => once(child, 'exit'),
  ]
  for (const wait of waits) await wait().catch(({ message }) => console.log(message))
  child.kill()
`

t.test('what does not come ends a wait with a sentence', async (t) => {
  const words = ['--input-type=module', '-e', source]
  const child = spawn(process.execPath, words, { env: { ...process.env, WAIT_SECONDS: '0.05' } })
  t.teardown(() => child.kill())
  let said = ''
  child.stdout.on('data', (chunk) => {
    said += chunk
  })
  await once(child, 'close')
  t.strictSame(said.trim().split('\n'), [
    'waited 0.05 s in vain for () => child.pid === 0',
    'waited 0.05 s in vain for a late answer',
    'waited 0.05 s in vain for a promise',
    "waited 0.05 s in vain for the event 'exit' of sleep 1000",
  ])
})

t.test('what comes is handed on, and so is what fails', async (t) => {
  const emitter = new EventEmitter()
  const event = once(emitter, 'ping')
  emitter.emit('ping', 1, 2)
  t.strictSame(await event, [1, 2])
  const failing = once(emitter, 'ping')
  emitter.emit('error', new Error('broken'))
  await t.rejects(failing, { message: 'broken' })
  t.equal(await inTime('a number', Promise.resolve(3)), 3)
  await t.rejects(inTime('a number', Promise.reject(new Error('no number'))), { message: 'no number' })
  let looks = 0
  t.equal(await waitFor('the third look', async () => ++looks === 3 && looks), 3)
  await until(() => ++looks === 6)
  t.equal(looks, 6)
})
