import t from 'tap'
import { examples, quantity, unknownHash } from '../../rpc/demoChain.js'
import { askResults, blockRefusals, checkRefusals, countRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'eth_getStorageValues'
const service = await startService()
t.teardown(() => service.stop())

const slot = (number: number) => `0x${number.toString(16).padStart(64, '0')}`
const tide = examples.contracts.find(({ name }) => name === 'Tide')?.address ?? ''

t.test('the values are those of the single reads, in the order asked for', async (t) => {
  for (const number of [1, 60, 148, 200, 264]) {
    const slots = examples.slots.filter(({ block }) => block <= number)
    const wanted: Record<string, string[]> = {}
    for (const { address, slot } of slots.toReversed()) {
      wanted[address] = [...(wanted[address] ?? []), slot]
    }
    const { result } = await service.call(method, [wanted, quantity(number)])
    t.strictSame(Object.keys(result), Object.keys(wanted).sort())
    for (const [address, keys] of Object.entries(wanted)) {
      const values = await askResults(
        service,
        keys.map((key) => ['eth_getStorageAt', [address, key, quantity(number)]]),
      )
      t.strictSame(result[address], values)
    }
  }
})

t.test('an address may have no slots where another has some, and stands once', async (t) => {
  const other = `0x${'ff'.repeat(20)}`
  const upper = `0x${tide.slice(2).toUpperCase()}`
  const { result } = await service.call(method, [{ [other]: [], [upper]: [], [tide]: [slot(0)] }])
  const { result: value } = await service.call('eth_getStorageAt', [tide, slot(0)])
  t.strictSame(result, { [tide]: [value], [other]: [] })
})

t.test('1,024 slots are the most', async (t) => {
  const slots = Array.from({ length: 1_024 }, (_, number) => slot(number))
  t.equal((await service.call(method, [{ [tide]: slots }])).result[tide].length, 1_024)
  const { error } = await service.call(method, [{ [tide]: slots, [`0x${'ff'.repeat(20)}`]: [slot(0)] }])
  t.strictSame(error, { code: -38026, message: 'too many slots (max 1024)' })
})

t.test('wrong parameters are refused', async (t) => {
  const wanted = { [tide]: [slot(0)] }
  const refused = (value: unknown, why: string) => [[value], -32602, `invalid argument 0: ${why}`] as const
  await checkRefusals(t, service, method, [
    ...countRefusals([wanted, 'latest'], 1),
    ...blockRefusals(1, (block) => [wanted, block]),
    [[{}], -32602, 'empty request'],
    [[{ [tide]: [] }], -32602, 'empty request'],
    refused([], 'want an object of slots by address, got array'),
    refused('0x0', 'want an object of slots by address, got string'),
    refused({ [tide]: '0x0' }, 'want an array of slots, got string'),
    refused({ [tide]: ['0x0'] }, 'hex string of odd length'),
    refused({ '0x1': [slot(0)] }, 'hex string of odd length'),
    [[wanted, '0xffff'], -32000, 'header not found'],
    [[wanted, unknownHash], -32000, 'header for hash not found'],
  ])
})
