import { join } from 'node:path'
import t from 'tap'
import { ForkSchedule, parseGenesisConfig } from '../../../../src/data/chain/forks.js'
import { GatewayWriter } from '../../../../src/data/store/gatewayWriter.js'
import { bytesToHex, toHash32 } from '../../../../src/primitives/bytes.js'
import { HeadKeeper } from '../../../../src/sources/ingest/gateway/headKeeper.js'
import { HeadReader } from '../../../../src/sources/ingest/gateway/headReader.js'
import { ProofFetcher } from '../../../../src/sources/ingest/gateway/proofFetcher.js'
import { verifyGateway } from '../../../../src/sources/ingest/gateway/verifyGateway.js'
import { NoAnswerError } from '../../../../src/sources/upstream/upstreams.js'
import { archivedConfig, type MadeBlock, makeBlocks } from '../../../ingest/eraArchives.js'

t.test('an older block of the chain, told as the head, changes nothing', async (t) => {
  const chain = makeBlocks(6)
  const config = JSON.stringify(archivedConfig)
  const store = GatewayWriter.open({ path: join(t.testdir(), 'chain.mdb'), mapBytes: 2 ** 26 })
  t.teardown(() => store.close())
  const genesisHash = bytesToHex((chain[0] as MadeBlock).hash)
  store.begin({ chainId: '1', networkId: '1', genesisHash, config, gateway: true })
  const headers = chain.map(({ number, hash, header }) => ({
    number,
    hash: toHash32(hash),
    header,
    totalDifficulty: undefined,
  }))
  store.advance(-1, headers, true)
  const nobody = {
    candidates: [],
    quorum: 1,
    count: 1,
    ask: () => Promise.reject(new NoAnswerError('no upstream')),
  }
  const schedule = new ForkSchedule(parseGenesisConfig(archivedConfig))
  const fetching = { schedule, fetchMsMax: 60_000 }
  const fetcher = new ProofFetcher(store, nobody, fetching)
  const reader = new HeadReader(store, fetcher, fetching)
  const heads: number[] = []
  const keeper = new HeadKeeper(store, fetcher, reader, {
    schedule,
    historyBlocks: 6,
    choice: { doubt: () => t.fail('doubted'), reject: () => t.fail('rejected') },
    onHead: () => heads.push(store.readHead()?.number ?? -1),
    onLinked: () => undefined,
    log: (text) => t.fail(text),
  })
  const { number, hash } = chain[3] as MadeBlock
  keeper.follow({ number, hash: bytesToHex(hash) })
  await keeper.close()
  t.strictSame(heads, [])
  t.strictSame(verifyGateway(store), {
    linkedFrom: 0,
    head: 5,
    blocks: 6,
    bodies: 0,
    receipts: 0,
    transactions: 0,
    nodes: 0,
    codes: 0,
    indexed: 0,
    faults: [],
  })
})
