// @shares
import { join } from 'node:path'
import t from 'tap'
import { resolveServeConfig } from '../../../../src/operation/config/config.js'
import { readStorageLayouts } from '../../../../src/operation/edge/storageLayouts.js'
import { UsageError } from '../../../../src/primitives/faults.js'
import { makeFolder, writeInto } from '../../../library/folder.js'
import { runHere } from '../../../service/program.js'

const layout = {
  storage: [{ label: 'x', slot: '0', offset: 0, type: 'u' }],
  types: { u: { encoding: 'inplace', label: 'uint256', numberOfBytes: '32' } },
}
const one = `0x${'Aa'.repeat(20)}`
const two = `0x${'bb'.repeat(20)}`

t.test('layouts stand in the file or in files beside it', async (t) => {
  const folder = makeFolder(t)
  writeInto(folder, 'artifact.json', { abi: [], storageLayout: layout })
  const layouts = readStorageLayouts(
    writeInto(folder, 'layouts.json', { [one]: layout, [two]: 'artifact.json' }),
  )
  t.strictSame([...layouts.keys()], [one.toLowerCase(), two])
  t.strictSame(layouts.get(two), layouts.get(one.toLowerCase()))
})

t.test('what is wrong is named with its file and address', async (t) => {
  const folder = makeFolder(t)
  const path = join(folder, 'layouts.json')
  const cases: [content: unknown, fault: RegExp][] = [
    ['{', /layouts\.json is not JSON/],
    [[], /are no JSON object from addresses to layouts/],
    [{ Tide: layout }, /"Tide" is no address; write 0x and 40 hex digits/],
    [{ [one]: layout, [one.toLowerCase()]: layout }, /0x(aa){20} is given twice/],
    [{ [two]: 'missing.json' }, /cannot read the layout of 0x(bb){20}: .*missing\.json \(ENOENT\)/],
    [
      { [two]: { storage: 5, types: {} } },
      /layout of 0x(bb){20} is not as solc writes it: storage: expected an array; compile/,
    ],
    [{ [two]: null }, /the layout: expected an object/],
  ]
  for (const [content, fault] of cases) {
    writeInto(folder, 'layouts.json', content)
    try {
      readStorageLayouts(path)
      t.fail(String(fault))
    } catch (error) {
      t.ok(error instanceof UsageError)
      t.match((error as Error).message, fault)
    }
  }
  t.throws(() => readStorageLayouts(join(folder, 'none.json')), /cannot read the storage layouts/)
})

t.test('the configuration names the file, relative to its own', async (t) => {
  const folder = makeFolder(t)
  writeInto(folder, 'genesis.json', {})
  const network = { name: 'one', genesis: 'genesis.json', storageLayouts: 'layouts.json' }
  const config = writeInto(folder, 'tidegate.json', { networks: [network] })
  t.throws(
    () => resolveServeConfig({ config }),
    /networks\[0\]\.storageLayouts: there is no file .*layouts\.json/,
  )
  const path = writeInto(folder, 'layouts.json', { [two]: layout })
  t.equal(resolveServeConfig({ config }).networks[0]?.storageLayoutsPath, path)
})

t.test('a faulty file ends serve before it begins', async (t) => {
  const folder = makeFolder(t)
  writeInto(folder, 'genesis.json', {})
  writeInto(folder, 'layouts.json', { Tide: layout })
  const network = { name: 'one', genesis: 'genesis.json', storageLayouts: 'layouts.json' }
  const config = writeInto(folder, 'tidegate.json', { port: 0, networks: [network] })
  const { status, err } = await runHere(['serve', '--config', config, '--data', join(folder, 'data')])
  t.equal(status, 2)
  t.match(err, /"Tide" is no address/)
})
