import type { JsonRpcProvider } from 'ethers'

/** Records the methods of a provider's answered calls, in the order of the answers. */
export async function noteAnswers(provider: JsonRpcProvider): Promise<readonly string[]> {
  const answered: string[] = []
  const sent = new Map<number, string>()
  await provider.on('debug', ({ action, payload, result }) => {
    for (const { id, method } of [payload ?? []].flat()) sent.set(id, method)
    if (action !== 'receiveRpcResult') return
    for (const { id } of [result].flat()) answered.push(sent.get(id) ?? '')
  })
  return answered
}

/** Number of answers to `method` after the last answer to `since`; 0 before there is one. */
export function answersSince(answered: readonly string[], since: string, method: string): number {
  const last = answered.lastIndexOf(since)
  return last === -1 ? 0 : answered.slice(last).filter((each) => each === method).length
}

/** Number of answers to `method`. */
export function countAnswers(answered: readonly string[], method: string): number {
  return answered.filter((each) => each === method).length
}
