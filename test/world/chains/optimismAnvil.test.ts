// @shares
/**
 * The EVM of the OP Stack beside anvil's: results and gas of all opcodes and precompiled contracts. anvil 1.7.1 takes
 * the name of each fork up to Jovian, and runs calls by the rules of Isthmus at every fork.
 */
import t from 'tap'
import { makeFolder } from '../../library/folder.js'
import { startDeveloper } from '../../service/developerChain.js'
import { startAnvil, withoutAnvil } from '../../upstream/anvilNode.js'

const from = `0x${'a1'.repeat(20)}`
const to = `0x${'c0de'.repeat(10)}`
const blocks = [
  'homestead',
  'eip150',
  'eip155',
  'eip158',
  'byzantium',
  'constantinople',
  'petersburg',
  'istanbul',
]
const times = [
  'regolith',
  'canyon',
  'ecotone',
  'fjord',
  'granite',
  'holocene',
  'isthmus',
  'shanghai',
  'cancun',
  'prague',
]
const genesis = {
  config: {
    chainId: 31_337,
    ...Object.fromEntries([...blocks, 'berlin', 'london', 'bedrock'].map((name) => [`${name}Block`, 0])),
    ...Object.fromEntries(times.map((name) => [`${name}Time`, 0])),
    terminalTotalDifficulty: 0,
    optimism: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
  },
  gasLimit: '0x3b9aca00',
  difficulty: '0x0',
  timestamp: '0x64000000',
  baseFeePerGas: '0x7',
  alloc: { [from.slice(2)]: { balance: '0xde0b6b3a7640000' } },
}

interface Probe {
  readonly name: string
  readonly code: string
  readonly data?: string
}

const byte = (value: number) => value.toString(16).padStart(2, '0')
const push = (value: number) => `63${value.toString(16).padStart(8, '0')}`
/** Calls a contract with this number of zeros. Returns whether the call succeeds, and the length of its answer. */
const callOf = (address: number, bytes: number) =>
  `5f5f${push(bytes)}5f5f${push(address)}${push(900_000_000)}f1`.replaceAll('5f', '6000') +
  '6000523d60205260406000f3'
const sizes: Readonly<Record<number, readonly number[]>> = {
  1: [0, 128],
  2: [0, 64],
  4: [100],
  5: [0, 96, 300],
  6: [128],
  7: [96],
  8: [0, 192, 57_600, 57_792, 81_984, 82_176, 112_512, 112_687, 112_896],
  9: [0, 213],
  10: [0, 192],
  11: [256],
  12: [160, 160 * 1_806, 160 * 1_807, 160 * 3_211, 160 * 3_212],
  13: [512],
  14: [288, 288 * 968, 288 * 969, 288 * 1_696, 288 * 1_697],
  15: [384, 384 * 408, 384 * 409, 384 * 612, 384 * 613],
  16: [64],
  17: [128],
  18: [0],
  256: [0, 160],
}
const probes: readonly Probe[] = [
  ...Array.from({ length: 256 }, (_, opcode) => ({
    name: `opcode ${byte(opcode)}`,
    code: `0x${'6001'.repeat(20)}${byte(opcode)}${'00'.repeat(34)}`,
  })),
  ...Object.entries(sizes).flatMap(([address, lengths]) =>
    lengths.map((length) => ({
      name: `${length} bytes for ${address}`,
      code: `0x${callOf(Number(address), length)}`,
    })),
  ),
  ...[0, 9, 10, 11, 17, 18, 255, 256, 257].map((address) => ({
    name: `access to ${address}`,
    code: `0x${push(address)}31${push(address)}3b00`,
  })),
  { name: 'data', code: '0x', data: `0x${'ff'.repeat(1_000)}` },
  { name: 'data that runs', code: `0x${'6001600055'.repeat(30)}`, data: `0x${'00ff'.repeat(400)}` },
  { name: 'a delegation', code: `0xef0100${'00'.repeat(19)}04`, data: '0x1234' },
]

const shapeOf = (trace: { gasUsed?: string; output?: string; error?: unknown } | undefined) => {
  return [Number(trace?.gasUsed), trace?.output ?? '0x', trace?.error !== undefined]
}

t.test('opcodes and precompiled contracts', { skip: withoutAnvil }, async (t) => {
  const { service } = await startDeveloper(t, { genesis })
  const flags = ['--network', 'optimism', '--hardfork', 'isthmus', '--gas-limit', '1000000000']
  const anvil = await startAnvil(t, makeFolder(t), genesis, flags)
  for (const { name, code, data = '0x' } of probes) {
    const call = { from, to, gas: '0x3b000000', data }
    const tracer = { tracer: 'callTracer', tracerConfig: { onlyTopCall: true } }
    const params = [call, 'latest', { ...tracer, stateOverrides: { [to]: { code } } }]
    const found = (await service.call('debug_traceCall', params)).result
    t.strictSame(shapeOf(found), shapeOf(await anvil.ask('debug_traceCall', params)), name)
  }
})
