import { verify, verifyHead } from 'tidegate/verify'

/**
 * The balance of an account at the newest block that validators signed, in wei. The server at `url` is not trusted: its
 * answer is proved from `checkpoint`, the root of a final beacon block from a source that you trust. `network` is the
 * chain id of mainnet, Sepolia or Hoodi. Rejects with an error that says what is wrong.
 */
export async function readBalance({ url, network, checkpoint, address }) {
  const question = { method: 'eth_getBalance', params: [address, 'latest'] }
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tidegate_getVerified',
      params: [question.method, question.params, checkpoint],
    }),
  })
  const { result, error } = await response.json()
  if (error) throw new Error(error.message)
  const { blockHash, slot, participants } = verifyHead(result?.headProof, { network, checkpoint })
  return { balance: BigInt(verify(result, { ...question, blockHash })), slot, participants }
}
