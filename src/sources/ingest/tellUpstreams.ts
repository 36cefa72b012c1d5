import { setInterval } from '../../primitives/timers.js'
import type { Upstreams } from '../upstream/upstreams.js'
import type { SignedHead } from './beacon/signedHead.js'
import type { IngestMessage, WorkingSetState } from './messages.js'

/** Time between two looks whether the upstreams' state has changed. */
const lookMs = 500
/**
 * How long a head does not move, for a reason, until that is told: branches, laggards and deep reorganisations need
 * some seconds.
 */
const troubleMs = 30_000

/** Tells what is known of upstreams where it has changed; `trouble` says why the head does not move. */
export function upstreamTeller(
  report: (message: IngestMessage) => void,
  upstreams: Upstreams,
  signed?: SignedHead,
  workingSet?: { readonly state: WorkingSetState },
): (trouble: string | undefined) => void {
  let told = ''
  return (trouble) => {
    const nodes = upstreams.states()
    const isDown = !nodes.some(({ isAnswering, isQuarantined }) => isAnswering && !isQuarantined)
    const head = upstreams.head?.claim.number
    const state = {
      head,
      isDown,
      ...(trouble !== undefined && { trouble }),
      nodes,
      signed: signed?.state,
      workingSet: workingSet?.state,
    }
    const text = JSON.stringify(state)
    if (text === told) return
    told = text
    report({ type: 'upstream', state })
  }
}

/**
 * Tells what is known of upstreams whenever it changes, and why the head does not move. `trouble` says why the head that
 * they agree on is not reached; undefined where it is. Returns a function that ends this.
 */
export function tellUpstreams(
  report: (message: IngestMessage) => void,
  upstreams: Upstreams,
  trouble: () => string | undefined,
  signed?: SignedHead,
  workingSet?: { readonly state: WorkingSetState },
): () => void {
  const tell = upstreamTeller(report, upstreams, signed, workingSet)
  let isTold = false
  let since: number | undefined
  const look = () => {
    const why = upstreams.choice.disagreement ?? signed?.trouble ?? trouble()
    since = why === undefined ? undefined : (since ?? performance.now())
    const isStuck = since !== undefined && performance.now() - since > troubleMs
    if (isStuck !== isTold) {
      isTold = isStuck
      report({ type: 'said', text: isStuck ? `the head does not move: ${why}` : 'the head moves again' })
    }
    tell(isStuck ? why : undefined)
  }
  const timer = setInterval(look, lookMs)
  return () => clearInterval(timer)
}
