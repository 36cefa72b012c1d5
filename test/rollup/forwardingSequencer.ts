/** A sequencer that hashes for the chain of `queues.ts`, with reports for tests of forwarding. */
import type { Test } from 'tap'
import { chainId } from './queues.js'
import { startSequencer } from './sequencer.js'

export const forms = ['rpc', 'gateway'] as const

export async function startForwarding(t: Test) {
  const sequencer = await startSequencer(t)
  await sequencer.order({ kind: 'hash', chainId })
  let senders = 1_000
  return {
    sequencer,
    urls: { rpc: `${sequencer.origin}/rpc`, gateway: `${sequencer.origin}/gateway` } as const,
    /** A sender that no other test uses. */
    newSender: () => ++senders,
    async arrivalsOf(sender: number) {
      const { arrivals, accepted } = await sequencer.report()
      const prefix = `0x${sender.toString(16)}/`
      return {
        arrivals: arrivals.filter(({ key }) => key.startsWith(prefix)),
        accepted: accepted.filter(({ key }) => key.startsWith(prefix)),
      }
    },
  }
}
