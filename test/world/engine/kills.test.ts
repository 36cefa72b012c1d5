// @alone it kills processes
/**
 * A node under a consensus client is killed at random moments between a block and its choice as head. The chain stays
 * whole, its head is a chosen block, and the client continues. `KILLS=200` for a longer run.
 */
import { join } from 'node:path'
import t from 'tap'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import {
  ChainMaker,
  contracts,
  type MadeBlock,
  mergedConfig,
  storeInput,
  testGenesis,
} from '../../ingest/chainMaker.js'
import { payloadOf } from '../../ingest/payloads.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { Dice, propertyRuns } from '../../library/property.js'
import { once } from '../../library/until.js'
import { type EngineNode, startEngine } from '../../service/engineNode.js'
import { checkedHead } from '../../store/checkedStore.js'

const kills = Number(process.env.KILLS ?? 2)
const beaconRoot = `0x${'be'.repeat(32)}`
/** Calls of a client that knows two branches, until its node is killed. */
const callsMax = 60

/** A chain and a branch of it: which of both is chosen changes, so that heads go back too. */
async function makeChains() {
  const genesis = testGenesis(mergedConfig(), { difficulty: '0x0' })
  const maker = await ChainMaker.create(genesis)
  const plans = (tag: bigint, count: number) =>
    Array.from({ length: count }, (_, index) => ({
      transactions: Array.from({ length: 10 }, (_, slot) => ({
        to: contracts.store,
        data: storeInput(BigInt(slot), tag + BigInt(index)),
      })),
    }))
  const trunk = await maker.extendBy(maker.genesis, plans(1n, 12))
  const branch = await maker.extendBy(trunk[3] as MadeBlock, plans(100n, 8))
  return { genesis, all: [...trunk, ...branch], parents: [maker.genesis, ...trunk, ...branch] }
}

t.test(`after each of ${kills} kills the head is one that was chosen`, async (t) => {
  const { genesis, all, parents } = await makeChains()
  const dice = new Dice(propertyRuns(1).seed as number)
  const folder = makeFolder(t)
  const path = writeInto(folder, 'genesis.json', genesis)
  const data = join(folder, 'data')
  const parentOf = ({ block }: MadeBlock) =>
    parents.find(({ hash }) => Buffer.from(hash).equals(block.header.parentHash)) as MadeBlock
  const given = new Set([parents[0] as MadeBlock])
  const chosen = [parents[0] as MadeBlock]
  let last = parents[0] as MadeBlock

  /** One call; its effect may be on disk before its answer. */
  const step = async (node: EngineNode): Promise<void> => {
    const ready = all.filter((made) => !given.has(made) && given.has(parentOf(made)))
    const isNew = ready.length > 0 && dice.throw(2) === 0
    if (isNew) {
      const made = ready[dice.throw(ready.length)] as MadeBlock
      const { result } = await node.call('engine_newPayloadV4', [payloadOf(made), [], beaconRoot, []])
      t.equal(result.status, 'VALID')
      given.add(made)
      return
    }
    const choices = [...given]
    const made = choices[dice.throw(choices.length)] as MadeBlock
    chosen.push(made)
    const [headBlockHash, safeBlockHash, finalizedBlockHash] = [made, made, parents[0] as MadeBlock].map(
      ({ hash }) => bytesToHex(hash),
    )
    const state = { headBlockHash, safeBlockHash, finalizedBlockHash }
    const { result } = await node.call('engine_forkchoiceUpdatedV3', [state])
    t.equal(result.payloadStatus.status, 'VALID')
    last = made
  }

  for (let kill = 0; kill < kills; kill++) {
    const node = await startEngine(t, { data, ...(kill === 0 && { genesis: path }) })
    const { result } = await node.service.call('eth_getBlockByNumber', ['latest', false])
    t.equal(result.hash, bytesToHex(last.hash), 'the node goes on from the last head')
    const calls = 1 + dice.throw(callsMax)
    for (let count = 0; count < calls; count++) await step(node)
    // The process is killed during the last call.
    const ended = once(node.service.process, 'exit')
    const underWay = step(node).catch(() => undefined)
    await new Promise((resolve) => setTimeout(resolve, dice.throw(20)))
    node.service.process.kill('SIGKILL')
    await ended
    await underWay
    const head = await checkedHead(t, join(data, 'networks/engine/chain.mdb'), chosen)
    // Only the last choice may be missing, or be stored without its answer.
    const allowed = [last, chosen.at(-1) as MadeBlock].map(({ hash }) => bytesToHex(hash))
    t.ok(allowed.includes(head?.hash as never), `kill ${kill}: head ${head?.number}`)
    last = chosen.findLast(({ hash }) => bytesToHex(hash) === head?.hash) as MadeBlock
  }
})
