/**
 * Ethereum's state tests through the kernel: `npm run -s state-tests -- PATH…`; JSON files, folders or `.tar.gz`. A
 * failure is printed with file, test, fork and index.
 */
import { runTool } from './runTool.js'
import { Tally } from './tally.js'

const tally = new Tally((line) => console.log(line))
await runTool('state-tests', tally, (path, text) => tally.run(path, text))
