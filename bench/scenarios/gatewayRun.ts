/** A gateway beside the archive that is its upstream: proved data is read at the archive's rate. */
import { slots } from '../data/demoFacts.js'
import { saturate, targetOf, warmUp, withConnections } from '../load/httpLoader.js'
import { rpc } from '../load/rpc.js'
import { warmUpSecondsOf } from '../options.js'
import { compareSides, sideOf } from '../report/outcome.js'
import { startTidegate } from '../servers/tidegateServer.js'
import type { SpecialScenario } from './specialScenario.js'

const { address, slot } = slots[0] as (typeof slots)[number]
const cached = () => rpc('eth_getStorageAt', [address, slot, 'latest'])

export const gatewayCached: SpecialScenario = {
  name: 'gateway-cached',
  title: 'storage slot, cached, of a gateway',
  seconds: (options) => 5 + 2 * (warmUpSecondsOf(options) + options.rounds * options.seconds),
  async run({ folder, settings, server: options, network }) {
    const { connections, warmUpSecondsMax, rounds, seconds } = settings
    const archive = await startTidegate(folder, [await network('demo')], options)
    const entry = { name: 'gateway', kind: 'gateway', upstreams: [{ url: archive.said }] }
    const gateway = await startTidegate(folder, [], { ...options, moreNetworks: [entry] })
    const sides = [archive, gateway].map((server) => ({ server, rates: [] as number[] }))
    try {
      for (let round = 0; round <= rounds; round++) {
        for (const { server, rates } of sides) {
          await withConnections(targetOf(server.said), connections, async (open) => {
            if (round === 0) return void (await warmUp(open, warmUpSecondsMax, cached, server.pageFaults))
            const result = await saturate(open, seconds, cached)
            rates.push(result.answers / result.seconds)
          })
        }
      }
    } finally {
      await gateway.stop()
      await archive.stop()
    }
    const [theirs, mine] = sides.map(({ rates }) => rates) as [number[], number[]]
    const own = sideOf(mine)
    const rival = sideOf(theirs)
    const ratios = { archive: compareSides(own, rival) }
    return { unit: 'answers', own, rivals: { archive: rival }, ratios }
  },
}
