// @shares
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import type { MadeBlock } from '../../ingest/chainMaker.js'
import { makeReplayedChain, type ReplayedChain, replayedStorePath } from '../../ingest/replayedChain.js'
import { Steps } from '../../ingest/steppedReplay.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { quantity } from '../../rpc/demoChain.js'
import { executedHere } from '../../service/fixtures.js'
import { withoutTimes } from '../../service/healthTimes.js'
import { runHere, runProgram, startProgram, writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'

/** A time longer than any test. */
const never = 3_600_000

const hashOf = (block: MadeBlock | undefined) => bytesToHex(block?.hash ?? new Uint8Array())

async function latest(service: Service): Promise<{ number: string; hash: string; parentHash: string }> {
  return (await service.call('eth_getBlockByNumber', ['latest', false])).result
}

async function waitForHead(service: Service, wanted: string): Promise<void> {
  await waitFor(`the head ${wanted}`, async () => (await latest(service)).hash === wanted)
}

/** Plays each head once the one before was received. */
async function playThrough(service: Service, steps: Steps, heads: readonly string[]): Promise<void> {
  await steps.reached()
  const [first = '', ...others] = heads
  await waitForHead(service, first)
  for (const head of others) {
    await steps.next()
    await waitForHead(service, head)
  }
}

/** The same chain with another pace. */
function withInterval({ configPath }: ReplayedChain, folder: string, intervalMs: number): string {
  const config = JSON.parse(readFileSync(configPath, 'utf8'))
  const [network] = config.networks
  network.source.intervalMs = intervalMs
  network.genesis = configPath.replace('tidegate.json', network.genesis)
  config.dataDir = configPath.replace('tidegate.json', config.dataDir)
  return writeConfig(folder, config)
}

async function verify(t: Test, config: string): Promise<void> {
  const { status, err } = await runHere(['verify', '--config', config, '--blocks', '3'])
  t.equal(status, 0, err)
}

t.test('heads arrive one by one with their reorganisations; a restart plays them again', async (t) => {
  const chain = await makeReplayedChain(t, {
    length: 16,
    from: 6,
    intervalMs: 1,
    reorganisations: [
      { after: 9, back: 2, blocks: 3 },
      { after: 12, back: 1, blocks: 2 },
      { after: 16, back: 3, blocks: 4 },
    ],
  })
  const heads = chain.heads.map(hashOf)
  const steps = await Steps.listen(t)
  const service = await chain.start(steps.env())
  t.teardown(() => service.stop())
  await playThrough(service, steps, heads)

  await t.test('what a reorganisation has taken back stands beside the chain', async (t) => {
    const [, , final = []] = chain.branches
    for (const block of final) {
      const { result } = await service.call('eth_getBlockByNumber', [quantity(block.number), true])
      t.equal(result.hash, hashOf(block))
    }
    const beside = [...chain.branches.slice(0, 2).flat(), ...chain.blocks.slice(13)]
    for (const block of beside) {
      const blockHash = hashOf(block)
      const { result } = await service.call('eth_getBlockByHash', [blockHash, false])
      t.equal(result.transactions.length, block.number % 4)
      const receipts = (await service.call('eth_getBlockReceipts', [blockHash])).result
      t.equal(receipts.length, block.number % 4, 'it was executed')
      const refused = await service.call('eth_getBlockByNumber', [
        { blockHash, requireCanonical: true },
        true,
      ])
      t.equal(refused.error?.message, 'hash is not currently canonical')
    }
  })

  t.equal((await service.call('eth_syncing')).result, false)
  t.equal(await service.stop(), 0)
  await verify(t, chain.configPath)

  const again = await chain.start(steps.env())
  t.teardown(() => again.stop())
  await playThrough(again, steps, heads)
  t.equal(await again.stop(), 0)
  await verify(t, chain.configPath)
})

t.test('a replay that waits for its next block is not syncing, and stops at once', async (t) => {
  const chain = await makeReplayedChain(t, { length: 6, from: 4, intervalMs: 1 })
  const config = withInterval(chain, makeFolder(t), never)
  const at4 = hashOf(chain.blocks[3])
  const whole = await chain.start()
  await waitForHead(whole, hashOf(chain.blocks.at(-1)))
  t.equal(await whole.stop(), 0)

  const service = await startService(['--config', config, '--no-auth'])
  t.teardown(() => service.stop())
  t.equal((await latest(service)).hash, at4, 'nobody sees the head of the last time')
  await waitFor('the end of what is taken in at once', async () => {
    return (await service.call('eth_syncing')).result === false
  })
  const five = chain.blocks[4]
  t.equal((await service.call('eth_getBlockByNumber', ['0x5', false])).result, null)
  t.match((await service.call('eth_getBlockByHash', [hashOf(five), false])).result, { number: '0x5' })
  const health = (await (await fetch(`${service.origin}/health`)).json()) as { readonly note?: string }
  const networks = { tides: { head: 4, basis: executedHere, syncing: false, condition: 'ok' } }
  t.strictSame({ ...withoutTimes(health), note: undefined }, { status: 'ok', networks, note: undefined })
  const import_ = await runHere(['import', '--config', config, chain.plan.file])
  t.equal(import_.status, 1)
  t.match(import_.err, /is being written by process \d+, which was started at \S+; stop that process/)
  t.equal(await service.stop(), 0, 'it does not wait for an hour')
  await verify(t, config)
})

t.test('a replay that does not fit is said in one sentence', async (t) => {
  const chain = await makeReplayedChain(t, {
    length: 6,
    from: 2,
    intervalMs: 1,
    reorganisations: [{ after: 4, back: 2, blocks: 1 }],
  })
  const config = JSON.parse(readFileSync(chain.configPath, 'utf8'))
  const change = (source: Record<string, unknown>) => {
    const [network] = config.networks
    const networks = [{ ...network, source: { ...network.source, ...source } }]
    return writeInto(chain.configPath.replace('/tidegate.json', ''), 'other.json', { ...config, networks })
  }
  const file = chain.plan.script[0]?.file
  const wrongDepth = change({ script: [{ after: 4, back: 1, file }] })
  const outcome = await runProgram(['serve', '--config', wrongDepth, '--no-auth', '--port', '0'])
  t.equal(outcome.status, 1)
  t.match(outcome.err, /^tidegate: source\.script\[0\]\.file: \S+ begins with block 3; [^\n]+\n$/)
  // Errors during the replay are logged, and imported blocks are served.
  const run = startProgram(['serve', '--config', change({ from: 9, script: [] }), '--no-auth', '--port', '0'])
  await waitFor('the fault', () =>
    /"msg":"the source ended: source\.from: [^"]* ends with block 6, before block 9/.test(run.said.err),
  )
  run.process.kill('SIGTERM')
  t.equal((await run.finished).status, 0)
})

t.test('a replay whose store does not exist makes it', async (t) => {
  const chain = await makeReplayedChain(t, { length: 3, from: 0, intervalMs: 1 })
  const service = await chain.start()
  t.teardown(() => service.stop())
  await waitForHead(service, hashOf(chain.blocks.at(-1)))
  const store = ChainReader.open({ path: replayedStorePath(chain) })
  t.equal(store.readHead()?.number, 3)
  await store.close()
})
