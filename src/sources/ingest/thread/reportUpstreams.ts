import { setInterval } from '../../../primitives/timers.js'
import type { Upstreams } from '../../upstream/upstreams.js'
import type { SignedHead } from '../beacon/signedHead.js'
import type { IngestMessage, WorkingSetState } from './messages.js'

/** Time between two checks for changes of the upstreams' state. */
const lookMs = 500
/**
 * How long a head must be stuck before the reason is reported: branches, slow nodes and deep reorganisations need some
 * seconds.
 */
const troubleMs = 30_000

/**
 * Returns a function that reports the state of upstreams if it has changed; its argument is why the head does not move.
 */
export function upstreamReporter(
  report: (message: IngestMessage) => void,
  upstreams: Upstreams,
  signed?: SignedHead,
  workingSet?: { readonly state: WorkingSetState },
): (trouble: string | undefined) => void {
  let reported = ''
  return (trouble) => {
    const nodes = upstreams.states()
    const isDown = !nodes.some(({ isAnswering, isQuarantined }) => isAnswering && !isQuarantined)
    const head = upstreams.head?.claim.number
    const state = {
      head,
      isDown,
      quorum: signed === undefined ? upstreams.quorum : undefined,
      ...(trouble !== undefined && { trouble }),
      nodes,
      signed: signed?.state,
      workingSet: workingSet?.state,
    }
    const text = JSON.stringify(state)
    if (text === reported) return
    reported = text
    report({ type: 'upstream', state })
  }
}

/**
 * Reports the state of upstreams whenever it changes, and why the head does not move. `trouble` returns why the agreed
 * head is not imported; undefined if it is. Returns a function that stops this.
 */
export function reportUpstreams(
  report: (message: IngestMessage) => void,
  upstreams: Upstreams,
  trouble: () => string | undefined,
  signed?: SignedHead,
  workingSet?: { readonly state: WorkingSetState },
): () => void {
  const reportState = upstreamReporter(report, upstreams, signed, workingSet)
  let isReported = false
  let since: number | undefined
  const look = () => {
    const why = upstreams.choice.disagreement ?? signed?.trouble ?? trouble()
    since = why === undefined ? undefined : (since ?? performance.now())
    const isStuck = since !== undefined && performance.now() - since > troubleMs
    if (isStuck !== isReported) {
      isReported = isStuck
      report({ type: 'said', text: isStuck ? `the head does not move: ${why}` : 'the head moves again' })
    }
    reportState(isStuck ? why : undefined)
  }
  const timer = setInterval(look, lookMs)
  return () => clearInterval(timer)
}
