import { join } from 'node:path'
import t from 'tap'
import { decodeHeader } from '../../../../src/data/chain/header.js'
import { GatewayWriter } from '../../../../src/data/store/gatewayWriter.js'
import { bytesToHex, type Hash32, toHash32 } from '../../../../src/primitives/bytes.js'
import type { ProvedBlock } from '../../../../src/sources/ingest/gateway/blockFetcher.js'
import { HeaderLinks } from '../../../../src/sources/ingest/gateway/headerLinks.js'
import { archivedConfig, type MadeBlock, makeBlocks } from '../../../ingest/eraArchives.js'

const top = 60
/** Number of the last canonical block that is already stored. */
const heldTo = 3
const chain = makeBlocks(top + 1)
const at = (number: number) => chain[number] as MadeBlock
const hashAt = (number: number): Hash32 => toHash32(at(number).hash)

/** A node that refuses some blocks, by their numbers and by their hashes. */
function nodeThat(refuses: (number: number) => boolean) {
  const asked: number[] = []
  return {
    asked,
    fetcher: {
      async readHeaderAt(number: number) {
        asked.push(number)
        if (refuses(number)) throw new Error('not on your plan')
        const { hash, header } = at(number)
        return { number, hash: toHash32(hash), header, totalDifficulty: undefined }
      },
      async readBlock(hash: Hash32) {
        const block = chain.find((each) => bytesToHex(each.hash) === bytesToHex(hash))
        if (block === undefined || refuses(block.number)) return undefined
        const header = decodeHeader(block.header)
        const headerRlp = block.header
        return { hash, header, headerRlp } as ProvedBlock
      },
    },
  }
}

function storeOf(t: { testdir(): string; teardown(close: () => unknown): void }): GatewayWriter {
  const store = GatewayWriter.open({ path: join(t.testdir(), 'chain.mdb'), mapBytes: 2 ** 26 })
  t.teardown(() => store.close())
  const genesisHash = bytesToHex(hashAt(0))
  const config = JSON.stringify(archivedConfig)
  store.begin({ chainId: '1', networkId: '1', genesisHash, config, gateway: true })
  const held = chain.slice(0, heldTo + 1)
  const rows = held.map(({ number, hash, header }) => {
    return { number, hash: toHash32(hash), header, totalDifficulty: undefined }
  })
  store.advance(-1, rows, true)
  return store
}

const numbersOf = (linked: readonly { readonly header: { readonly number: number } }[]) =>
  linked.map(({ header }) => header.number)

for (const refused of [top, top - 1, 40, heldTo + 1]) {
  t.test(`block ${refused} is refused: what is linked above it is kept`, async (t) => {
    let isRefusing = true
    const { fetcher, asked } = nodeThat((number) => isRefusing && number === refused)
    const links = new HeaderLinks(storeOf(t), fetcher)
    const above = Array.from({ length: top - refused }, (_, index) => top - index)
    const down = () => links.down(hashAt(top), top, heldTo + 1)
    if (above.length === 0) await t.rejects(down(), /no upstream has block/)
    else t.strictSame(numbersOf(await down()), above)
    await t.rejects(links.toChain(hashAt(top), top, 0), /no upstream has block/)
    isRefusing = false
    asked.length = 0
    const linked = await links.toChain(hashAt(top), top, 0)
    t.strictSame(
      numbersOf(linked ?? []),
      Array.from({ length: top - heldTo }, (_, index) => heldTo + 1 + index),
    )
    t.strictSame(
      asked.filter((number) => number > refused),
      [],
      'and not asked for again',
    )
  })
}
