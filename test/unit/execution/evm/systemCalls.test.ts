/** The protocol's own calls begin with nothing accessed: no precompiled contract, caller or contract is warm in them. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type ForkName, forkNames, includesFork } from '../../../../src/data/chain/forks.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { beginBlock, requestsHash, requestsOf } from '../../../../src/execution/evm/blocks/systemCalls.js'
import { Kernel } from '../../../../src/execution/evm/engine/kernel.js'
import {
  precompileAddress,
  precompileNumbers,
} from '../../../../src/execution/evm/precompiles/precompiles.js'
import {
  bytesToBigInt,
  bytesToHex,
  concatBytes,
  hexToBytes,
  padLeft,
  trimLeft,
} from '../../../../src/primitives/bytes.js'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'
import { parseBlock } from '../../../../src/sources/ingest/blocks/block.js'
import { readChainFile } from '../../../../src/sources/ingest/blocks/chainFile.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../../../src/sources/ingest/blocks/importer.js'
import { mergedConfig, testGenesis } from '../../../ingest/chainMaker.js'
import { emptyState } from '../../../library/emptyState.js'
import { assemble } from './assembly.js'
import { demoHeader } from './demoExecution.js'

const recordings = join(packageRoot(), '../shared/syscalls')

for (const name of ['gas', 'pre']) {
  const folder = join(recordings, name)
  const skip = !existsSync(folder) && `there is no chain at ${folder}`
  t.test(`${name}: a chain whose requests tell the gas of a system call is imported`, { skip }, async (t) => {
    const { identity, blockDiff, schedule } = parseGenesis(readFileSync(join(folder, 'genesis.json'), 'utf8'))
    const store = ChainWriter.openForWriting({ path: join(t.testdir(), 'chain.mdb'), mapBytes: 2 ** 30 })
    t.teardown(() => store.close())
    store.initialize(identity, blockDiff)
    const importer = new ChainImporter(store, schedule)
    for await (const { rlp } of readChainFile(join(folder, 'chain.rlp')))
      t.equal((await importer.importBlock(parseBlock(rlp))).outcome, 'canonical')
  })
}

/** The contracts that a block calls, and since when. */
const contracts: readonly (readonly [since: ForkName, address: Uint8Array])[] = [
  ['cancun', hexToBytes('000f3df6d732807ef1319fb7b8bb8522d0beac02')],
  ['prague', hexToBytes('0000f90827f1c53a10cb7a02335b175320002935')],
  ['prague', hexToBytes('00000961ef480eb55e80d19ad83579a64c007002')],
  ['prague', hexToBytes('0000bbddc7ce488642fb579f8b00f3a590007251')],
  ['amsterdam', hexToBytes('0000bff46984e3725691fa540a8c7589300d8282')],
  ['amsterdam', hexToBytes('000064d678505ad48f8ccb093bc65613800e8282')],
]
const coinbase = padLeft(Uint8Array.of(0xcb), 20)
const systemAddress = hexToBytes('fffffffffffffffffffffffffffffffffffffffe')

/** Code that stores the price of the balance of each address, first and repeated. */
function priceEach(addresses: readonly Uint8Array[]): Uint8Array {
  const parts = addresses.flatMap((address, index) =>
    [2 * index, 2 * index + 1].map((slot) =>
      assemble(
        'GAS',
        BigInt(`0x${Buffer.from(address).toString('hex')}`),
        'BALANCE',
        'POP',
        'GAS',
        'SWAP1',
        'SUB',
        slot,
        'SSTORE',
      ),
    ),
  )
  return concatBytes(...parts, assemble('STOP'))
}

/** Gas of PUSH, POP and GAS. */
const gasBetween = 7n

for (const fork of forkNames.filter((name) => includesFork(name, 'cancun'))) {
  t.test(`${fork}: each address is cold, and then warm`, async (t) => {
    const called = contracts.filter(([since]) => includesFork(fork, since)).map(([, address]) => address)
    const precompiles = precompileNumbers(fork).map(precompileAddress)
    const addresses = [...precompiles, new Uint8Array(20), ...called, systemAddress, coinbase]
    const kernel = new Kernel()
    kernel.attach(fork, {
      state: emptyState,
      ancestorHash: () => undefined,
      watch: undefined,
    })
    kernel.begin(systemAddress, 0n, [])
    for (const address of called) kernel.setCode(kernel.account(address), priceEach(addresses))
    // A transaction finds precompiled contracts warm, before and after.
    for (const address of precompiles) t.ok(kernel.warm(kernel.account(address)))
    kernel.end()
    const header = { ...demoHeader, parentBeaconBlockRoot: demoHeader.parentHash }
    const { schedule } = parseGenesis(JSON.stringify(testGenesis(mergedConfig(), { difficulty: '0x0' })))
    beginBlock(kernel, header, fork, schedule)
    requestsOf(kernel, [], schedule, fork, false)
    const first = includesFork(fork, 'amsterdam') ? 3_000n : 2_600n
    const expected = addresses.flatMap(() => [first, 100n])
    for (const address of called) {
      const account = kernel.account(address)
      const costs = expected.map((_, index) => {
        const key = padLeft(Uint8Array.of(index), 32)
        return bytesToBigInt(trimLeft(kernel.slotOf(account, key))) - gasBetween
      })
      t.strictSame(costs, expected, Buffer.from(address).toString('hex'))
    }
    kernel.begin(coinbase, 0n, [])
    for (const address of precompiles) t.ok(kernel.warm(kernel.account(address)))
  })
}

t.test('deposits are those of the contract that the genesis names', async (t) => {
  const contract = new Uint8Array(20).fill(0x42)
  const word = (value: number) => padLeft(Uint8Array.of(value >> 8, value & 0xff), 32)
  const lengths = [48, 32, 8, 96, 8]
  const parts = lengths.map((length) => {
    return concatBytes(word(length), new Uint8Array(Math.ceil(length / 32) * 32).fill(length))
  })
  const offsets = [160, 256, 320, 384, 512].map(word)
  const topic = hexToBytes('649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5')
  const log = { address: contract, topics: [topic], data: concatBytes(...offsets, ...parts) }
  const hashWith = (config: object) => {
    const kernel = new Kernel()
    kernel.attach('prague', { state: emptyState, ancestorHash: () => undefined, watch: undefined })
    const genesis = testGenesis({ ...mergedConfig(), ...config }, { difficulty: '0x0' })
    const { schedule } = parseGenesis(JSON.stringify(genesis))
    return bytesToHex(requestsHash(requestsOf(kernel, [log], schedule, 'prague', true)))
  }
  const own = concatBytes(Uint8Array.of(0), ...lengths.map((length) => new Uint8Array(length).fill(length)))
  const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()
  const none = `0x${sha256(new Uint8Array(0)).toString('hex')}`
  t.equal(hashWith({}), none, 'a genesis that names none')
  t.equal(hashWith({ depositContractAddress: `0x${'43'.repeat(20)}` }), none, 'one that names another')
  t.equal(
    hashWith({ depositContractAddress: bytesToHex(contract) }),
    `0x${sha256(sha256(own)).toString('hex')}`,
    'one that names it',
  )
})
