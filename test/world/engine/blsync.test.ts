// @alone it starts another program
/**
 * `blsync` of go-ethereum drives Tidegate. It takes signed heads from a beacon node, whose chain has real signatures and
 * whole blocks. It gives these blocks over the Engine API. A branch and a block with a wrong state come in between.
 */
import { spawn } from 'node:child_process'
import t, { type Test } from 'tap'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { beaconBodyOf } from '../../consensus/beaconBody.js'
import { type BeaconServer, specOf } from '../../consensus/beaconServer.js'
import { SignedChain } from '../../consensus/signedChain.js'
import {
  ChainMaker,
  contracts,
  type MadeBlock,
  mergedConfig,
  storeInput,
  testGenesis,
} from '../../ingest/chainMaker.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { once, waitFor } from '../../library/until.js'
import { type EngineNode, startEngine } from '../../service/engineNode.js'

const { BLSYNC } = process.env
const recipient = `0x${'ab'.repeat(20)}` as const

/** blsync drops events beyond five at once and one a second; each announcement has three. */
const announceMs = 4_000

const named = ({ number, hash }: MadeBlock) => ({ number, hash: bytesToHex(hash) })

/** A chain of execution blocks, each in a beacon block on that of its parent. */
class BeaconChain {
  readonly signed = new SignedChain()
  readonly #maker: ChainMaker
  readonly #roots = new Map<MadeBlock, Uint8Array>()

  constructor(maker: ChainMaker) {
    this.#maker = maker
    const { genesis } = maker
    const body = beaconBodyOf(genesis, new Uint8Array(32))
    this.#roots.set(genesis, this.signed.include(named(genesis), body))
  }

  /** Makes a block on `parent`, in whose state `final` is final, and has it signed. */
  async add(parent: MadeBlock, final: MadeBlock, header: Record<string, unknown> = {}): Promise<MadeBlock> {
    const beaconRoot = this.#roots.get(parent) as Uint8Array
    const value = BigInt(this.#roots.size)
    const made = await this.#maker.extend(parent, {
      beaconRoot,
      transactions: [{ to: contracts.store, data: storeInput(value, value) }],
      withdrawals: [{ index: value, validatorIndex: 1n, address: recipient, amount: value }],
      header,
    })
    this.#roots.set(made, this.signed.include(named(made), beaconBodyOf(made, beaconRoot), named(final)))
    this.signed.view.showBlock(this.signed.sign(named(made), named(final)))
    return made
  }
}

/** Announces the newest block again and again meanwhile. */
async function announcing(server: BeaconServer, wait: () => Promise<unknown>): Promise<void> {
  server.announce()
  const timer = setInterval(() => server.announce(), announceMs)
  try {
    await wait()
  } finally {
    clearInterval(timer)
  }
}

/** Starts blsync, which ends with the test. Returns its output, which grows. */
function startBlsync(
  t: Test,
  chain: SignedChain,
  beacon: string,
  { url, jwt }: EngineNode,
  first: MadeBlock,
) {
  const { genesisTime, genesisValidatorsRoot } = chain.view.chain.network
  // A fork without a version is unknown to it.
  const { HEZE_FORK_EPOCH, ...spec } = specOf(chain.view.chain)
  const words = [
    ['--blsync.engine.api', url],
    ['--blsync.jwtsecret', jwt],
    ['--beacon.api', beacon],
    // JSON is YAML, too.
    ['--beacon.config', writeInto(makeFolder(t), 'config.yaml', spec)],
    ['--beacon.genesis.gvroot', bytesToHex(genesisValidatorsRoot)],
    ['--beacon.genesis.time', String(genesisTime)],
    ['--beacon.checkpoint', chain.checkpoint(named(first))],
    ['--verbosity', '4'],
  ]
  const child = spawn(BLSYNC as string, words.flat(), { stdio: ['ignore', 'ignore', 'pipe'] })
  const said = { err: '' }
  child.stderr.on('data', (chunk) => {
    said.err += chunk
  })
  t.teardown(async () => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    if (!t.passing()) t.comment(said.err.slice(-10_000))
  })
  return said
}

t.test('blsync drives the node', { skip: BLSYNC === undefined && 'BLSYNC=PATH runs it' }, async (t) => {
  const genesis = testGenesis(mergedConfig(), { difficulty: '0x0' })
  const maker = await ChainMaker.create(genesis)
  const chain = new BeaconChain(maker)
  const server = await chain.signed.server(t)
  const node = await startEngine(t, { genesis: writeInto(makeFolder(t), 'genesis.json', genesis) })
  const hashOf = async (block: string) =>
    (await node.service.call('eth_getBlockByNumber', [block, false])).result?.hash
  /** Announces the newest block until the node has these blocks. */
  const mustGet = async (head: MadeBlock, final: MadeBlock) => {
    await announcing(server, async () => {
      for (const [tag, { number, hash }] of [
        ['latest', head],
        ['safe', final],
        ['finalized', final],
      ] as const)
        await waitFor(`${tag} block ${number}`, async () => (await hashOf(tag)) === bytesToHex(hash))
    })
    t.equal(await hashOf('latest'), bytesToHex(head.hash))
  }

  const trunk = [maker.genesis, await chain.add(maker.genesis, maker.genesis)]
  const at = (number: number) => trunk[number] as MadeBlock
  const blsync = startBlsync(t, chain.signed, server.url, node, maker.genesis)
  await mustGet(at(1), maker.genesis)
  for (const number of [2, 3, 4, 5]) {
    trunk.push(await chain.add(at(number - 1), at(number - 2)))
    await mustGet(at(number), at(number - 2))
  }

  const branch = await chain.add(at(3), at(3))
  await mustGet(branch, at(3))
  t.equal(await hashOf('0x5'), undefined, 'a branch that is shorter')

  await chain.add(branch, at(3), { stateRoot: new Uint8Array(32).fill(1) })
  await announcing(server, () =>
    waitFor('an invalid block', () => /NewPayload.*status=INVALID/.test(blsync.err)),
  )
  t.equal(await hashOf('latest'), bytesToHex(branch.hash))

  const last = await chain.add(branch, at(3))
  await mustGet(last, at(3))
})
