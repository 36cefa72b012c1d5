/**
 * Ethereum's state tests through the kernel: `npm run -s state-tests -- PATH…`; JSON files, folders or `.tar.gz`.
 * Prints each failure by file, test, fork and index, and last how many passed, failed and were skipped. Exits with 1
 * where one failed. What has been done so far goes to the error output every ten seconds.
 */
import { readTestFiles } from './files.js'
import { Tally } from './tally.js'

const progressMs = 10_000

const paths = process.argv.slice(2)
const asksHelp = paths.includes('--help')
if (asksHelp || paths.length === 0) {
  console.error('usage: npm run -s state-tests -- PATH… (JSON files, folders, .tar.gz)')
  process.exit(asksHelp ? 0 : 2)
}
const tally = new Tally((line) => console.log(line))
let files = 0
let toldAt = performance.now()
for (const path of paths) {
  for await (const file of readTestFiles(path)) {
    tally.run(file.path, file.text)
    files++
    if (performance.now() - toldAt < progressMs) continue
    toldAt = performance.now()
    console.error(`${files} files, ${tally.summary}: ${file.path}`)
  }
}
console.log(tally.summary)
if (tally.failed > 0 || tally.passed + tally.skipped === 0) process.exitCode = 1
