import { type Fault, FaultError } from '../primitives/faults.js'
import type { CallAnswer, IngestCall, IngestMessage } from './messages.js'

/** Takes a call; its outcome is reported. */
export type CallTaker = (call: IngestCall) => void

/** The fault of calls to a thread that ends or has ended. */
export const sourceEnded: Fault = {
  kind: 'UpstreamsFailed',
  why: 'the source of this network has ended, see the log; upstreams are not asked',
}

/** Makes what takes calls: reports what `answer` resolves to, or the fault that it rejects with. */
export function callTaker(
  report: (message: IngestMessage) => void,
  answer: (call: IngestCall) => Promise<CallAnswer>,
): CallTaker {
  return (call) => {
    const { serial } = call
    answer(call).then(
      (answer) => report({ type: 'answered', serial, answer }),
      (error) => {
        const isFault = error instanceof FaultError
        if (!isFault) report({ type: 'said', text: `a defect: ${(error as Error).stack}` })
        const fault = isFault ? error.fault : ({ kind: 'UpstreamsFailed', why: 'internal error' } as const)
        report({ type: 'refused', serial, fault })
      },
    )
  }
}
