import t from 'tap'
import { type OpenOptions, openNetwork } from '../../../src/commands/openNetwork.js'
import { resolveServeConfig } from '../../../src/config.js'
import { makeReplayedChain } from '../../replayedChain.js'

t.test('each head of a replay reaches the network by a message of its own', async (t) => {
  const { configPath, heads } = await makeReplayedChain(t, {
    length: 20,
    from: 2,
    intervalMs: 20,
    reorganisations: [{ after: 10, back: 2, blocks: 3 }],
  })
  const [config] = resolveServeConfig({ config: configPath }).networks
  if (config === undefined) throw new Error('no network')
  const options = { mapBytes: 2 ** 30, answerCacheBytes: 2 ** 20, proofCacheBytes: 0, proofKeysMax: 1 }
  // A network also looks by itself now and then; without that, only messages move its head.
  const { setInterval } = globalThis
  globalThis.setInterval = (() => ({ unref() {} })) as never
  const opening = openNetwork(config, { ...options, onProgress: () => undefined } as unknown as OpenOptions)
  const network = await opening.finally(() => {
    globalThis.setInterval = setInterval
  })
  t.teardown(() => network.close())
  const seen = new Set<number>()
  const watch = setInterval(() => seen.add(network.current.head.number), 1)
  await network.caughtUp
  t.equal(network.current.syncing, undefined)
  await network.ingested
  clearInterval(watch)
  t.equal(network.current.head.number, 20)
  // Two heads at once are one where this thread gets its turn too late.
  t.comment(`${seen.size} numbers for ${heads.length} heads`)
  t.ok([...seen].some((number) => number > 2 && number < 20))
})
