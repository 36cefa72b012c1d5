/**
 * Gateways of public chains of the OP Stack, with nodes that report no `config`. Calls run by the forks of the chain,
 * which its chain id identifies. Calls of an unknown chain are passed on if rules differ.
 */
import t from 'tap'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { post } from '../../service/httpClient.js'
import { runHere, writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'
import { coded, FamilyNode, plain, reportedCall } from '../../upstream/familyNode.js'
import { madeFamily } from '../../upstream/madeFamilies.js'

/** OP Mainnet has Karst, and World Chain only Jovian. The forks of Fraxtal are not known. */
const networks = ['optimism', 'worldchain', 'fraxtal'] as const

const addressOf = (number: number) => `0x${number.toString(16).padStart(40, '0')}`
const p256Verify = addressOf(0x100)
const pairing = addressOf(0x08)
/** 301 pairs of zeros: more than Karst allows, and less than Jovian does. */
const pairs = `0x${'00'.repeat(301 * 192)}`
/** Returns the number of leading zeros of 1, by the opcode of Osaka. */
const leadingZeros = '0x60011e60005260206000f3'
const one = `0x${'1'.padStart(64, '0')}`
/** More than P256VERIFY costs before Karst, and less than it costs since. */
const gas = '0x6590'

t.test('calls run by the forks of a public chain', async (t) => {
  const nodes = await Promise.all(networks.map(async (name) => new FamilyNode(await madeFamily(name))))
  for (const { node } of nodes) await node.start()
  t.teardown(() => Promise.all(nodes.map(({ node }) => node.stop())))
  const data = makeFolder(t)
  const gateways = networks.map((name, at) => {
    return { name, kind: 'gateway', upstreams: [nodes[at]?.node.url] }
  })
  const config = writeConfig(data, { dataDir: data, networks: gateways })
  const service = await startService(['--config', config, '--no-auth'])
  t.teardown(() => service.stop())
  const ask = async (network: (typeof networks)[number], method: string, params: readonly unknown[]) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const { text, headers } = await post(`${service.origin}/${network}`, body)
    const { result, error } = JSON.parse(text) as { result?: unknown; error?: { message: string } }
    return { result, error: error?.message, trust: headers['tidegate-trust'] }
  }
  const call = (network: (typeof networks)[number], message: object) =>
    ask(network, 'eth_call', [message, 'latest'])
  for (const network of networks)
    await waitFor(`the head of ${network}`, async () => {
      return (await ask(network, 'eth_blockNumber', [])).result === '0x14'
    })

  for (const network of ['optimism', 'worldchain'] as const) {
    const block = await ask(network, 'eth_getBlockByNumber', ['0x14', true])
    t.equal(block.trust, undefined, 'blocks are proved')
    t.match(await call(network, { to: coded }), { result: `0x${'14'.padStart(64, '0')}`, trust: undefined })
    const estimate = await ask(network, 'eth_estimateGas', [{ from: plain, to: plain, value: '0x1' }])
    t.match(estimate, { result: '0x5208', trust: undefined }, 'an estimate')
    const pending = await ask(network, 'eth_call', [{ to: coded }, 'pending'])
    t.match(pending, { result: `0x${'15'.padStart(64, '0')}`, trust: undefined }, 'a call in the next block')
    const tracer = { tracer: 'callTracer' }
    const traced = await ask(network, 'debug_traceCall', [{ to: coded }, 'latest', tracer])
    t.match(traced, { result: { to: coded, output: `0x${'14'.padStart(64, '0')}` }, trust: undefined })
    t.match(await call(network, { to: pairing }), { result: one, trust: undefined }, 'a pairing of nothing')
  }
  t.match(await call('optimism', { to: pairing, data: pairs }), { error: /.+/, trust: undefined })
  t.match(await call('worldchain', { to: pairing, data: pairs }), { result: one, trust: undefined })
  t.match(await call('optimism', { to: p256Verify, gas }), { error: /out of gas/, trust: undefined })
  t.match(await call('worldchain', { to: p256Verify, gas }), { result: '0x', trust: undefined })
  const clz = `0x${'ff'.padStart(64, '0')}`
  t.match(await call('optimism', { data: leadingZeros }), { result: clz, trust: undefined })
  t.match(await call('worldchain', { data: leadingZeros }), { error: /invalid opcode/, trust: undefined })

  for (const message of [{ to: pairing }, { to: p256Verify, gas }, { data: leadingZeros }]) {
    t.match(await call('fraxtal', message), { result: reportedCall, trust: 'none' })
  }
  t.match(await call('fraxtal', { to: coded }), { result: `0x${'14'.padStart(64, '0')}`, trust: undefined })
  await service.stop()
  for (const network of networks) {
    const { status, out, err } = await runHere(['verify', '--config', config, '--network', network])
    t.equal(status, 0, `${out}${err}`)
  }
})
