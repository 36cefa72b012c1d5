/** Execution blocks that go-ethereum made, inside beacon blocks: their hashes come out, and changed ones are refused. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ForkSchedule } from '../../../../src/data/chain/forks.js'
import { bytesToHex } from '../../../../src/primitives/bytes.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { readBeaconPayload } from '../../../../src/sources/ingest/engine/beaconPayload.js'
import { LieError } from '../../../../src/sources/ingest/nodes/lie.js'
import { BeaconChain } from '../../../consensus/beaconChain.js'
import { engineRecordings, withoutEngineRecordings } from '../../../consensus/engineRecordings.js'
import { recordedPayloads } from '../../../consensus/recordedPayloads.js'

const scheduleOf = (genesis: string) =>
  parseGenesis(readFileSync(join(engineRecordings, genesis), 'utf8')).schedule

/** A block of Bellatrix before the Merge, and one of Gloas. */
const withoutPayload = [
  { message: { parent_root: `0x${'11'.repeat(32)}`, body: { execution_payload: null } } },
  { message: { parent_root: `0x${'11'.repeat(32)}`, body: { signed_execution_payload_bid: {} } } },
]

for (const [file, genesis, least] of [
  ['03-ladder.jsonl', 'genesis-ladder.json', 60],
  ['15-requests.jsonl', 'genesis-osaka.json', 4],
] as const) {
  t.test(`the blocks of ${file} have their hashes`, { skip: withoutEngineRecordings }, async (t) => {
    const schedule = scheduleOf(genesis)
    const given = recordedPayloads(file)
    const { blocks } = new BeaconChain(given)
    t.ok(blocks.length >= least, `${blocks.length} blocks`)
    for (const [index, { data }] of blocks.entries()) {
      const read = readBeaconPayload(data, schedule)
      t.equal(read && bytesToHex(read.block.hash), given[index]?.payload.blockHash)
    }
  })
}

t.test('each member that is wrong, missing or malformed is a lie', { skip: withoutEngineRecordings }, (t) => {
  const schedule = scheduleOf('genesis-osaka.json')
  const { blocks } = new BeaconChain(recordedPayloads('15-requests.jsonl'))
  const [data] = blocks.slice(2)
  const text = JSON.stringify(data?.data)
  const { execution_payload: payload, execution_requests: requests } = JSON.parse(text).message.body
  let cases = 0
  const refuses = (
    change: (message: Record<string, unknown>, body: Record<string, unknown>) => void,
    why: string,
  ) => {
    const changed = JSON.parse(text)
    change(changed.message, changed.message.body)
    t.throws(() => readBeaconPayload(changed, schedule), LieError, why)
    cases++
  }
  const wrong: readonly unknown[] = [
    '0x',
    '0xzz',
    '7',
    '-1',
    '1'.repeat(100),
    7,
    null,
    [],
    {},
    'x',
    ['0x00'],
    [null],
  ]
  const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
  for (const [name, member] of Object.entries(payload as Record<string, unknown>)) {
    for (const value of wrong) {
      if (isSame(member, value)) continue
      const set = (body: Record<string, unknown>) =>
        Object.assign(body.execution_payload as object, { [name]: value })
      refuses((_, body) => set(body), `${name} is ${JSON.stringify(value).slice(0, 20)}`)
    }
    refuses((_, body) => {
      delete (body.execution_payload as Record<string, unknown>)[name]
    }, `${name} is missing`)
  }
  for (const [name, list] of Object.entries(requests as Record<string, Record<string, unknown>[]>)) {
    refuses((_, body) => Object.assign(body.execution_requests as object, { [name]: 7 }), name)
    for (const member of Object.keys(list[0] ?? {}))
      refuses((_, body) => {
        const [first] = (body.execution_requests as typeof requests)[name]
        first[member] = '0x00'
      }, `${name}.${member}`)
  }
  refuses((message) => Object.assign(message, { parent_root: `0x${'11'.repeat(32)}` }), 'parent_root')
  refuses((message) => Object.assign(message, { parent_root: '0x11' }), 'a short parent_root')
  refuses((_, body) => Object.assign(body, { execution_requests: undefined }), 'no requests')
  for (const value of [undefined, null, 7, [], {}, { message: [] }, { message: {} }])
    t.throws(() => readBeaconPayload(value, schedule), LieError, JSON.stringify(value))
  t.ok(cases > 200, `${cases} cases`)
  t.end()
})

t.test('a block without a payload has none', async (t) => {
  const schedule = ForkSchedule.of({ config: JSON.stringify({ chainId: 1 }) } as never)
  for (const data of withoutPayload) t.equal(readBeaconPayload(data, schedule), undefined)
})
