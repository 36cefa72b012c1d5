/**
 * Ethereum's blockchain tests through the importer: `npm run -s blockchain-tests -- PATH…`; JSON files, folders or
 * `.tar.gz`. A failure is printed with file and test.
 */
import { runTool } from '../stateTests/runTool.js'
import { ChainTally } from './chainTally.js'

const tally = new ChainTally((line) => console.log(line))
try {
  await runTool('blockchain-tests', tally, (path, text) => tally.run(path, text))
} finally {
  tally.close()
}
