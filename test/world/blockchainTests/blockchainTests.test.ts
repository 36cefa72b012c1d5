/**
 * A sample of Ethereum's blockchain tests through the importer: of the first file of each folder and every
 * {@link everyNth} of all, the first tests. The whole is `npm run -s blockchain-tests --
 * ../shared/blockchain-tests/blockchain-tests.tar.gz`. Skipped where it is absent.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { ChainTally } from '../../blockchainTests/chainTally.js'
import { readTestFiles } from '../../stateTests/files.js'
import { summaryOf } from '../../stateTests/runTool.js'

const archive = join(packageRoot(), '../shared/blockchain-tests/blockchain-tests.tar.gz')
const skip = existsSync(archive) ? false : `${archive} is absent`
const everyNth = 16
const testsOfFile = 3

t.test(
  'a sample from each folder, of each network, ends with the head that it names',
  { skip },
  async (t) => {
    const tally = new ChainTally((line) => t.fail(line), testsOfFile)
    t.teardown(() => tally.close())
    const folders = new Set<string>()
    let seen = 0
    const isChosen = (path: string) => {
      const isFirst = !folders.has(dirname(path))
      folders.add(dirname(path))
      return seen++ % everyNth === 0 || isFirst
    }
    for await (const { path, text } of readTestFiles(archive, isChosen)) await tally.run(path, text)
    t.comment(summaryOf(tally))
    t.equal(tally.failed + tally.skipped, 0)
    t.ok(tally.passed > 150, 'many')
    t.ok(tally.networks.size > 15, [...tally.networks].join())
  },
)

t.test(
  'another head, a block that is taken or refused against the test are failures',
  { skip },
  async (t) => {
    const wrong = async (folder: string, find: RegExp, put: string) => {
      const lines: string[] = []
      const tally = new ChainTally((line) => lines.push(line), 1)
      t.teardown(() => tally.close())
      let count = 0
      const isExample = (path: string) => path.includes(`/${folder}/`) && count++ === 0
      for await (const { path, text } of readTestFiles(archive, isExample)) {
        await tally.run(path, text.replaceAll(find, put))
      }
      t.ok(count > 0, folder)
      return lines.join()
    }
    const nothing = '0'.repeat(64)
    t.match(await wrong('bcExample', /("lastblockhash" *: *"0x)[0-9a-f]{64}/g, `$1${nothing}`), /the head is/)
    t.match(await wrong('bcExample', /("rlp" *:)/g, '"expectException": "x", $1'), /is taken/)
    t.match(await wrong('bcInvalidHeaderTest', /"expectException"/g, '"no"'), /is refused/)
  },
)
