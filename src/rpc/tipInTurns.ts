import { suggestTip } from '../chain/suggestedTip.js'
import type { Caller } from './caller.js'
import type { Network } from './network.js'
import { doSteps, type Steps, Turns } from './turns.js'

/** The tip of {@link suggestTip} at the head, rendered by `render`. Reading 40 full blocks takes 20 ms and more. */
export function tipInTurns(
  network: Network,
  caller: Caller,
  turnMsMax: number,
  render: (tip: bigint) => string,
): string | Promise<string> {
  return doSteps(steps(network, new Turns(turnMsMax, caller, 0), render))
}

function* steps({ chain }: Network, turns: Turns, render: (tip: bigint) => string): Steps<string> {
  const suggesting = suggestTip(chain.head.number, (number) => {
    const block = chain.resolve({ kind: 'number', number }, 0)
    return block && chain.readBlock(block.hash)
  })
  try {
    for (;;) {
      if (turns.isOver) yield* turns.pause()
      turns.begin()
      const step = suggesting.next()
      if (step.done) return render(step.value)
    }
  } finally {
    turns.end()
  }
}
