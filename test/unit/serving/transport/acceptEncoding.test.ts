import t from 'tap'
import { chooseEncoding, type Encoding } from '../../../../src/serving/transport/acceptEncoding.js'

const all: readonly Encoding[] = ['br', 'zstd', 'gzip']

t.test('the coding with the highest weight is chosen, of equal ones the first that is offered', async (t) => {
  const cases: readonly (readonly [header: string, chosen: Encoding | undefined])[] = [
    ['', undefined],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['GZip', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip;q=1, br;q=0.9', 'gzip'],
    ['gzip;q=0.5,br;q=0.500', 'br'],
    ['gzip ; q=0.5 , zstd\t;\tq=0.6', 'zstd'],
    ['*', 'br'],
    ['*, br;q=0', 'zstd'],
    ['gzip, *;q=0.1', 'gzip'],
    ['gzip;q=0', undefined],
    ['gzip;q=0.000', undefined],
    ['deflate', undefined],
    ['identity', undefined],
    ['identity, gzip', 'gzip'],
    ['identity, gzip;q=0.5', undefined],
    ['identity;q=0.2, gzip;q=0.5', 'gzip'],
    ['identity;q=0, gzip;q=0.001', 'gzip'],
    ['*;q=0.8, gzip;q=0.5', 'br'],
    ['*;q=0', undefined],
    ['gzip;q=2', undefined],
    ['gzip;q=0.1234', undefined],
    ['gzip;q=', undefined],
    ['gzip;level=9', undefined],
    [';q=1,, ,gzip', 'gzip'],
  ]
  for (const [header, chosen] of cases) {
    t.equal(chooseEncoding(header, all), chosen, header)
    t.equal(chooseEncoding(header, all), chosen, `${header}, again`)
  }
  t.equal(chooseEncoding('gzip, deflate, br', ['gzip']), 'gzip')
  t.equal(chooseEncoding('br', ['gzip']), undefined)
  t.equal(chooseEncoding('*', []), undefined)
})

t.test('more headers than are kept are read as well', async (t) => {
  for (let n = 0; n < 200; n++) t.equal(chooseEncoding(`x${n}, gzip`, all), 'gzip')
  t.equal(chooseEncoding(`${'x,'.repeat(2000)}gzip`, all), 'gzip')
})
