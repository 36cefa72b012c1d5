/** A page that trusts only a checkpoint, with the example of `package/verified`, and the answers that it refuses. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { type HeadOptions, VerifyError, verify, verifyHead } from '../../../src/verify/verify.js'
import { SignedChain } from '../../consensus/signedChain.js'
import { accounts, ancestor, type StormBlock, StormChain } from '../../faults/stormChain.js'
import { HonestNode } from '../../faults/stormNodes.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { Dice, propertyRuns } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import { openBrowser, Visit, withoutBrowser } from '../../service/browser.js'
import { writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'

const bytesMax = 60_000
const folder = join(packageRoot(), 'package/verified')
const html = readFileSync(join(folder, 'index.html'), 'utf8')
const { outputFiles } = await build({
  entryPoints: [join(folder, 'page.js')],
  bundle: true,
  write: false,
  minify: true,
  format: 'esm',
})
const bundle = outputFiles[0]?.text as string

const chain = await StormChain.create(new Dice(5))
const signed = new SignedChain()
const beacon = await signed.server(t)
const { node } = new HonestNode(chain, { lagSteps: 0, hasRaw: true })
await node.start()
t.teardown(() => node.stop())
const { tip } = chain
const final = ancestor(tip, tip.number - 20) as StormBlock
const other = signed.checkpoint(ancestor(final, final.number - 3) as StormBlock)
const checkpoint = signed.checkpoint(final)
signed.sign(tip, final, 480)
const beaconConfig = signed.config([beacon], checkpoint)
const config = writeConfig(makeFolder(t), {
  dataDir: 'data',
  networks: [
    {
      name: 'dev',
      kind: 'gateway',
      genesis: writeInto(makeFolder(t), 'genesis.json', JSON.parse(chain.maker.genesisText)),
      upstreams: [node.url],
      pollMs: 50,
      beacon: beaconConfig,
    },
  ],
})
const service = await startService(['--config', config, '--no-auth', '--cors', '*'])
t.teardown(() => service.stop())
await waitFor('the head', async () => {
  return (await service.call('eth_getBlockByNumber', ['latest', false])).result?.hash === tip.hash
})

const [address = ''] = accounts
const question = { method: 'eth_getBalance', params: [address, 'latest'] }
const network = signed.view.chain.network
const ask = async (root: string) =>
  (await service.call('tidegate_getVerified', [question.method, question.params, root])).result
const answer = await ask(checkpoint)

t.test('the page and what it needs are small', async (t) => {
  const bytes = gzipSync(html).length + gzipSync(bundle).length
  t.ok(bytes <= bytesMax, `${bytes} bytes with gzip`)
})

t.test('an answer is proved from a checkpoint', async (t) => {
  const { blockHash, participants } = verifyHead(answer.headProof, { network, checkpoint })
  t.equal(blockHash, tip.hash)
  t.equal(participants, 480)
  t.equal(BigInt(verify(answer, { ...question, blockHash })), await chain.balance(tip, address))
})

t.test('an answer is proved from another checkpoint, and not from one that no node has', async (t) => {
  const { headProof } = await ask(other)
  t.equal(verifyHead(headProof, { network, checkpoint: other }).blockHash, tip.hash)
  t.throws(() => verifyHead(headProof, { network, checkpoint }), /another block than the checkpoint/)
  t.equal((await ask(`0x${'cd'.repeat(32)}`)).headProof, null)
  const without = (await service.call('tidegate_getVerified', [question.method, question.params])).result
  t.notOk('headProof' in without)
})

t.test('a proof is refused with a byte changed, of too few, too old, or of another network', async (t) => {
  const refuses = (proof: unknown, options: Partial<HeadOptions>, message: RegExp) =>
    t.throws(() => verifyHead(proof, { network, checkpoint, ...options }), {
      constructor: VerifyError,
      message,
    })
  const { seed = 0, numRuns = 0 } = propertyRuns(12)
  const dice = new Dice(seed)
  const { headProof } = answer
  for (let run = 0; run < numRuns; run++) {
    const name = dice.throw(2) === 0 ? 'bootstrap' : 'update'
    const hex = headProof[name] as string
    // The last 8 bytes of an update are not signed: the slot of the signature, which may be any of its period.
    const end = name === 'update' ? hex.length - 16 : hex.length
    const at = 2 + dice.throw(end - 2)
    const digit = (Number.parseInt(hex[at] as string, 16) ^ (1 + dice.throw(15))).toString(16)
    refuses({ ...headProof, [name]: hex.slice(0, at) + digit + hex.slice(at + 1) }, {}, /./)
  }
  refuses(null, {}, /there is no proof of the head/)
  refuses(headProof, { network: 1 }, /./)
  refuses(headProof, { network: 7 }, /the consensus layer of chain 7 is not known/)
  refuses(headProof, { now: Date.now() + 8 * 86_400_000 }, /days ago/)
  refuses({ ...headProof, updates: Array(17).fill('0x') }, {}, /updates is no list of at most 16/)
  refuses({ ...headProof, update: '0x00' }, {}, /./)
})

t.test('the example shows a balance in Chromium', { skip: withoutBrowser }, async (t) => {
  const files = new Map([
    ['/', ['text/html', html]],
    ['/bundle.js', ['text/javascript', bundle]],
  ])
  const server = createServer((request, response) => {
    const [type, body] = files.get(request.url ?? '') ?? []
    response.writeHead(body === undefined ? 204 : 200, { 'content-type': type ?? 'text/plain' }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const visit = await Visit.open(await openBrowser(t), `http://127.0.0.1:${port}/`)
  const fields = {
    Server: service.origin,
    'Chain id': JSON.stringify(beaconConfig.network),
    Address: address,
  }
  for (const [name, value] of Object.entries(fields)) await visit.fill('textbox', name, value)
  const show = async (root: string) => {
    await visit.fill('textbox', 'Checkpoint', root)
    await visit.click('button', 'Read its balance')
  }
  await show(checkpoint)
  const balance = await chain.balance(tip, address)
  await visit.see(`${balance} wei at slot ${signed.slotOf(tip)}, signed by 480 of 512`)
  await show(`0x${'cd'.repeat(32)}`)
  await visit.see('not proved: there is no proof of the head')
  t.strictSame(
    visit.faults.filter((fault) => !/favicon/.test(fault)),
    [],
  )
})
