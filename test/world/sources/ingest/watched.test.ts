// @shares
/** An upstream that reports wrong slots of a contract whose whole storage a gateway stores. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { type Address, type Hash32, hexToBytes } from '../../../../src/primitives/bytes.js'
import { amsterdamFile, readAmsterdamBlocks, withoutAmsterdam } from '../../../ingest/amsterdam.js'
import { makeAmsterdamReplay } from '../../../ingest/amsterdamReplay.js'
import { ArchiveNode, GatewayRig } from '../../../ingest/gatewayRig.js'
import { waitFor } from '../../../library/until.js'

type Storage = Readonly<Record<string, { readonly key: string; readonly value: string }>>

/** Beside each slot another entry with the same hash, in another spelling. */
function twice(storage: Storage, twinOf: (value: string) => string): Storage {
  const twins = Object.entries(storage).map(([hash, { key, value }]) => {
    return [`0x${hash.slice(2).toUpperCase()}`, { key, value: twinOf(value) }] as const
  })
  return { ...storage, ...Object.fromEntries(twins) }
}

const lies: Readonly<Record<string, (storage: Storage) => unknown>> = {
  'each slot again, as zero': (storage) => twice(storage, () => `0x${'0'.repeat(64)}`),
  'each slot again': (storage) => twice(storage, (value) => value),
  'a long text': () => '0'.repeat(30_000_000),
}

t.test('wrong slots are not held, and end nothing', { skip: withoutAmsterdam }, async (t) => {
  const { blocks } = await makeAmsterdamReplay(t, { length: 60, from: 44, intervalMs: 0 })
  const genesis = readFileSync(amsterdamFile('a1-cross', 'genesis.json'), 'utf8')
  for (const [what, lie] of Object.entries(lies)) {
    const archive = await ArchiveNode.open(t, genesis, ['accessList', 'enumeration'])
    for (const { rlp } of blocks.slice(0, 50)) await archive.take(rlp)
    const slotsAt = (address: string) => [
      ...archive.store.slotsOfAt(hexToBytes(address) as Uint8Array as Address, archive.head.number),
    ]
    const touched = readAmsterdamBlocks('a1-cross').flatMap(({ blockAccessList = [] }) => blockAccessList)
    const contract = touched.find(({ address }) => slotsAt(address).length > 3)?.address as string
    archive.change = ({ method }, answer) => {
      if (method !== 'debug_storageRangeAt' || !('result' in answer)) return answer
      const page = answer.result as { readonly storage: Storage }
      return { result: { ...page, storage: lie(page.storage) } }
    }
    const rig = await GatewayRig.open(t, [archive], { workingSet: { watch: [contract] } })
    const isWhole = () => {
      const reported = rig.messages.findLast((message) => message.type === 'upstream')
      return reported?.type === 'upstream' && reported.state.workingSet?.whole === 1
    }
    let next = 50
    const step = async () => {
      await archive.take((blocks[next++] as { readonly rlp: Uint8Array }).rlp)
      archive.tell()
      await rig.reached(archive.head)
    }
    // An attempt that took longer than a block is made again with the next one.
    await waitFor('an attempt', async () => {
      if (next < 58) await step()
      return isWhole() || rig.said.includes(`contract ${contract}`)
    })
    t.match(rig.said, 'is stored only as far as it is read: debug_storageRangeAt reports', what)
    await step()
    const { number } = archive.head
    const wrong: string[] = []
    for (const [slot, value] of slotsAt(contract)) {
      const held = await rig.read((rows) =>
        rows.readSlotAt(hexToBytes(contract) as Uint8Array as Address, slot as Hash32, number),
      )
      if (Buffer.compare(held ?? new Uint8Array(0), value) !== 0)
        wrong.push(Buffer.from(slot).toString('hex'))
    }
    t.strictSame(wrong, [], what)
    await rig.stop()
  }
})
