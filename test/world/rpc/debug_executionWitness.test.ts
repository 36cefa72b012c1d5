// @shares
import t, { type Test } from 'tap'
import { ForkSchedule, parseGenesisConfig } from '../../../src/data/chain/forks.js'
import { decodeHeader } from '../../../src/data/chain/header.js'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { bytesToBigInt, bytesToHex, type Hash32 } from '../../../src/primitives/bytes.js'
import { decodeRlpList } from '../../../src/primitives/rlp.js'
import { LibraryExecutor } from '../../library/executeBlock.js'
import { makeFolder } from '../../library/folder.js'
import { type Witness, witnessState } from '../../library/witnessState.js'
import { buildBranch, chainFileOf } from '../../rpc/branches.js'
import { blockAt, bytesOf, quantity, unknownHash } from '../../rpc/demoChain.js'
import { askResults, checkRefusals, type ErrorCase, refusalsOfBlock } from '../../rpc/questions.js'
import { importHere } from '../../rpc/servedChain.js'
import { fixtureDir, recordedConfig, withoutRecordings } from '../../service/fixtures.js'
import { storePathOf } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'

const method = 'debug_executionWitness'
const service = await startService()
t.teardown(() => service.stop())

/**
 * Executes every block of a chain by its witness alone, with @ethereumjs. Returns the number of witnesses with more
 * than one header.
 */
async function executeAll(t: Test, { call }: Service, network: string): Promise<number> {
  const store = ChainReader.open({ path: storePathOf(fixtureDir, network) })
  t.teardown(() => store.close())
  const schedule = new ForkSchedule(parseGenesisConfig(JSON.parse(store.readIdentity()?.config ?? '{}')))
  const library = new LibraryExecutor(schedule)
  const head = store.readHead()?.number ?? 0
  t.ok(head > 50)
  let older = 0
  for (let number = 1; number <= head; number++) {
    const hash = store.readCanonicalHash(number) as Hash32
    const headerRow = store.readHeader(hash) as Uint8Array
    const header = decodeHeader(headerRow)
    const witness = (await call(method, [quantity(number)])).result as Witness
    const { headers, codes, state } = witness
    if (headers.length > 1) older++
    for (const [index, { hash, number: at }] of headers.entries()) {
      const expected = number - headers.length + index
      t.equal(Number(at), expected)
      t.equal(hash, bytesToHex(store.readCanonicalHash(expected) as Hash32))
    }
    for (const list of [codes, state]) t.strictSame(list, [...new Set(list)].sort())
    const parent = decodeHeader(store.readHeader(header.parentHash) as Uint8Array)
    t.equal(headers.at(-1)?.stateRoot, bytesToHex(parent.stateRoot))
    const parentTotal = bytesToBigInt(store.readTotalDifficulty(header.parentHash) ?? new Uint8Array(0))
    const fork = schedule.forkAt(number, header.timestamp, schedule.isMerged(parentTotal))
    const items = [decodeRlpList(headerRow), ...decodeRlpList(store.readBody(hash) as Uint8Array)]
    const { changes, receiptsRoot } = await library.execute(
      items,
      fork,
      witnessState(witness, parent.stateRoot, header.parentHash),
      (asked) => {
        const found = headers.find((each) => Number(each.number) === asked)
        if (found === undefined) throw new Error(`header ${asked} is not in the witness of block ${number}`)
        return bytesOf(found.hash as string) as Hash32
      },
    )
    t.equal(bytesToHex(changes.stateRoot), bytesToHex(header.stateRoot), `block ${number}`)
    t.equal(bytesToHex(receiptsRoot), bytesToHex(header.receiptsRoot), `block ${number}`)
  }
  return older
}

t.test('every block of the demo chain can be executed from its witness alone', async (t) => {
  t.ok((await executeAll(t, service, 'demo')) > 0, 'some blocks ask for hashes of blocks before their parent')
})

t.test(
  'every block of the recorded chain can be executed from its witness alone',
  { skip: withoutRecordings },
  async (t) => {
    const recorded = await startService(['--config', recordedConfig, '--no-auth'])
    t.teardown(() => recorded.stop())
    await executeAll(t, recorded, 'recorded')
  },
)

t.test('headers are written as newHeads has them, and blocks named as anywhere', async (t) => {
  const { hash } = blockAt(200)
  const [witness, ...others]: Witness[] = await askResults(service, [
    [method, ['0xc8']],
    [method, [hash]],
    [method, [{ blockHash: hash, requireCanonical: true }]],
    [method, [{ blockNumber: '0xc8' }]],
  ])
  for (const other of others) t.strictSame(other, witness)
  t.equal(witness?.keys, null)
  const { result: header } = await service.call('eth_getHeaderByNumber', ['0xc7'])
  t.match(witness?.headers.at(-1), header)
  const [latest] = await askResults(service, [[method, ['latest']]])
  t.strictSame(latest, (await service.call(method, ['0x108'])).result)
})

t.test('a block beside the chain has a witness where it was executed once', async (t) => {
  const folder = makeFolder(t)
  const plan = { increments: [1, 2, 1], forksAt: 2, name: 'a' }
  const [short, long] = [
    await buildBranch(plan),
    await buildBranch({ ...plan, increments: [1, 2, 1, 1], name: 'b' }),
  ]
  await importHere(folder, chainFileOf(short))
  await importHere(folder, chainFileOf(long.slice(1)))
  const service = await startService(['--network', 'tides', '--data', `${folder}/data`, '--no-auth'])
  t.teardown(() => service.stop())
  const left = short[2]?.hash
  const { result } = await service.call(method, [left])
  t.equal(result.headers.at(-1).hash, short[1]?.hash)
  const { error } = await service.call(method, [{ blockHash: left, requireCanonical: true }])
  t.strictSame(error, { code: -32000, message: 'hash is not currently canonical' })
})

t.test('blocks without a parent, without a hash and unknown ones have none', async (t) => {
  const refusals: ErrorCase[] = [
    [['earliest'], -32000, 'the genesis block has no parent'],
    [['pending'], -32000, 'header not found'],
    [['0xffff'], -32000, 'header not found'],
    [[unknownHash], -32000, 'header for hash not found'],
  ]
  await checkRefusals(t, service, method, [...refusals, ...refusalsOfBlock('number')])
})
