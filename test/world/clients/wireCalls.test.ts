// @shares
/**
 * Calls as clients of other languages send them, from lists of their functions. The clients are go-ethereum's ethclient
 * and gethclient, web3.py, and Hardhat's network with a url. Others read whole chains: ethereum-etl, Blockscout's
 * indexer and Otterscan's pages.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { facts } from '../../clients/everyday.js'
import { checkParams, checkResult } from '../../rpc/openRpc.js'
import { startService } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'

interface WireCall {
  /** The client's function. */
  readonly of: string
  readonly method: string
  /** Absent if the client omits it. Words that begin with `$` are names of members of `facts`. */
  readonly params?: readonly unknown[]
  /** `socket` for calls that are sent only over a WebSocket. */
  readonly over?: 'socket'
  /** The expected answer, if it is known; `null` for nothing. */
  readonly gives?: unknown
}

const words: Readonly<Record<string, unknown>> = {
  $ada: facts.ada,
  $bea: facts.bea,
  $tide: facts.tide,
  $headHash: facts.head.hash,
  $txHash: facts.transaction.hash,
  $txBlockHash: facts.transaction.blockHash,
  $totalSupplyCall: facts.totalSupplyCall,
  $transferTopic: facts.transferTopic,
  $adaBalance: `0x${facts.adaBalance.toString(16)}`,
  $adaNonce: `0x${facts.adaNonce.toString(16)}`,
  $zeroHash: `0x${'0'.repeat(64)}`,
  $unknownHash: `0x${'12'.repeat(32)}`,
}

function filled(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith('$') ? words[value] : value
  if (Array.isArray(value)) return value.map(filled)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, filled(each)]))
}

const service = await startService()
t.teardown(() => service.stop())

for (const client of ['goEthclient', 'hardhat', 'web3py', 'ethereumEtl', 'blockscout', 'otterscan']) {
  const path = join(packageRoot(), 'test/clients', `${client}.json`)
  const calls: readonly WireCall[] = JSON.parse(readFileSync(path, 'utf8'))
  t.test(`${client}: every call is answered, over HTTP and over a WebSocket`, async (t) => {
    const socket = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
    t.teardown(() => socket.socket.close())
    for (const { of, method, params, over, gives } of calls) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: filled(params) })
      const answers = [(await socket.ask(body)) ?? '']
      if (over === undefined) answers.push((await service.post('/', body)).text)
      for (const text of answers) {
        const { result, error } = JSON.parse(text)
        t.equal(error, undefined, `${of}: ${text.slice(0, 300)}`)
        checkParams(method, filled(params))
        checkResult(method, result)
        if (gives !== undefined) t.strictSame(result, filled(gives), of)
        else t.not(result, null, of)
      }
    }
  })
}
