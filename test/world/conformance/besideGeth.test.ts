// @shares
/** The command that compares with go-ethereum, with a Tidegate in its place, and a front that changes answers. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { once } from '../../library/until.js'
import { startService } from '../../service/service.js'
import { type Front, type FrontAnswer, type FrontCall, json, openFront } from '../../upstream/front.js'

const service = await startService()
t.teardown(() => service.stop())
const network = `${service.origin}/`
const program = join(packageRoot(), 'dist/modules/test/besideGeth/main.js')

async function compared(...words: readonly string[]) {
  const child = spawn(process.execPath, [program, ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, err, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { status, out, err }
}

const few = ['--blocks', '3', '--calls', '20', '--seed', '1']

t.test('a node beside itself has no difference', async (t) => {
  const { status, out } = await compared(network, '--ours', network, ...few)
  t.equal(status, 0, out)
  t.match(out, /^method +compared +different +known +texts$/m)
  t.match(out, /^eth_getProof +\d+ +0 +0 +0$/m)
  t.match(out, /^seed 1: \d{3,} compared, 0 different$/m)
})

t.test('each method that answers otherwise is named with a request that shows it', async (t) => {
  const alters: Front = async ({ calls }, pass) => {
    const reply = await pass()
    const answers = [JSON.parse(`${reply.body}`)].flat() as FrontAnswer[]
    const altered = answers.map((answer) =>
      calls.find(({ id }: FrontCall) => id === answer.id)?.method === 'eth_getBalance'
        ? { ...answer, result: '0x7', error: undefined }
        : answer,
    )
    return json(200, calls.length > 1 || `${reply.body}`.startsWith('[') ? altered : altered[0])
  }
  const front = await openFront(t, network, alters)
  const { status, out } = await compared(front, '--ours', network, ...few, '--shown', '1')
  t.equal(status, 1, out)
  const shown = out.split('\n').filter((line) => line.startsWith('DIFFERENT'))
  t.equal(shown.length, 1, out)
  t.match(shown[0], /^DIFFERENT eth_getBalance \.result: geth "0x7", Tidegate "0x/)
  const request = out.split('\n')[out.split('\n').indexOf(shown[0] ?? '') + 1]
  t.equal(JSON.parse(request ?? '').method, 'eth_getBalance')
})

t.test('what cannot be compared is said, and so is how to ask', async (t) => {
  const [help, unreachable, nothing] = await Promise.all([
    compared('--help'),
    compared('http://127.0.0.1:9', '--ours', network),
    compared(),
  ])
  t.match(help, { status: 0, out: /npm run -s beside-geth -- URL/ })
  t.match(unreachable, { status: 2, err: /^beside-geth: / })
  t.match(nothing, { status: 2, err: /either the URL of a running geth or --geth PROGRAM.*see --help/ })
})
