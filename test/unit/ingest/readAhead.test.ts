/** What is read ahead of a block is what its access list names. */
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import t from 'tap'
import { decodeBlockAccessList } from '../../../src/chain/blockAccessList.js'
import { decodeHeader } from '../../../src/chain/header.js'
import { parseBlock } from '../../../src/ingest/block.js'
import { readChainFile } from '../../../src/ingest/chainFile.js'
import { ChainImporter } from '../../../src/ingest/importer.js'
import { withKeysAhead } from '../../../src/ingest/keysAhead.js'
import { readListed } from '../../../src/ingest/readAhead.js'
import { bytesToHex, concatBytes, hexToBytes } from '../../../src/primitives/bytes.js'
import { encodeRlpListOfEncoded, rlpListSpans, rlpSpanAt } from '../../../src/primitives/rlp.js'
import { headState, type StateView } from '../../../src/state/stateView.js'
import { amsterdamFile, readAmsterdamBlocks, withoutAmsterdam } from '../../ingest/amsterdam.js'
import { importAmsterdam, newAmsterdamStore } from '../../ingest/amsterdamStore.js'

const never = () => false
const anyBlock = { transactionCount: 1_000, gasLimit: 10n ** 12n }

t.test(
  'accounts and slots of the list are read, and nodes above changes',
  { skip: withoutAmsterdam },
  async (t) => {
    const { store } = await importAmsterdam(t, 'a1-cross', 'chain.rlp.gz')
    const list = hexToBytes(readAmsterdamBlocks('a1-cross')[200]?.blockAccessListRlp ?? '0xc0')
    const state = headState(store, decodeHeader(store.readHeader(store.head.hash) as Uint8Array).stateRoot)
    const read = new Set<string>()
    let nodes = 0
    const recorded: StateView = {
      ...state,
      account: (address) => {
        read.add(bytesToHex(address))
        return state.account(address)
      },
      slot: (address, slot) => {
        read.add(bytesToHex(concatBytes(address, slot)))
        return state.slot(address, slot)
      },
      tries: (address) => {
        const readNode = state.tries(address)
        return (...node) => {
          nodes++
          return readNode(...node)
        }
      },
    }
    readListed(list, recorded, never)
    const accesses = decodeBlockAccessList(list, anyBlock)
    const named = accesses.flatMap(({ address, storageChanges, storageReads }) =>
      [[], ...storageChanges.map(({ slot }) => slot), ...storageReads].map((slot) =>
        bytesToHex(concatBytes(address, Uint8Array.from(slot))),
      ),
    )
    t.strictSame([...read].sort(), named.sort())
    const changed = accesses
      .filter(({ storageChanges, balanceChanges }) => storageChanges.length + balanceChanges.length > 0)
      .reduce((sum, { storageChanges }) => sum + 1 + storageChanges.length, 0)
    t.ok(nodes >= changed && changed > 0, `${nodes} nodes above ${changed} changes`)
    read.clear()
    readListed(list, recorded, () => true)
    t.equal(read.size, 0, 'nothing is read for a block that is executed already')
  },
)

t.test(
  'blocks with lists are imported beside it, also where a list is none',
  { skip: withoutAmsterdam },
  async (t) => {
    const { store, schedule } = newAmsterdamStore(t, 'a1-cross')
    const importer = new ChainImporter(store, schedule)
    const broken = async function* () {
      for await (const { rlp } of readChainFile(amsterdamFile('a1-cross', 'chain-with-bal.rlp.gz'))) {
        const parts = rlpListSpans(rlp, rlpSpanAt(rlp, 0)).map(({ start, end }) => rlp.subarray(start, end))
        if (parts.length === 5) parts[4] = Uint8Array.of(0xc2, 0x80, 0x80)
        yield { rlp: encodeRlpListOfEncoded(parts) }
      }
    }
    const hasThread = availableParallelism() > 1
    const ready = hasThread && once(process, 'worker').then(([worker]) => once(worker, 'message'))
    let blocks = 0
    let ahead = 0
    for await (const { rlp, takeKeys } of withKeysAhead(broken(), store, 0)) {
      if (takeKeys !== undefined && blocks >= 40) ahead++
      await ready
      const parts = rlpListSpans(rlp, rlpSpanAt(rlp, 0)).slice(0, 4)
      const block = parseBlock(
        encodeRlpListOfEncoded(parts.map(({ start, end }) => rlp.subarray(start, end))),
      )
      await importer.importBlock({ ...block, takeKeys })
      if (++blocks === 100) break
    }
    t.equal(store.head.number, 100)
    t.equal(ahead > 0, hasThread, `${ahead} blocks were sent to the thread`)
  },
)
