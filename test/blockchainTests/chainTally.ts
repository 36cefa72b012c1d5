/** Runs the tests of files of blockchain tests, each on a store of its own, and counts the outcomes. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type JsonChainTest, runChainTest } from './chainTest.js'

export class ChainTally {
  passed = 0
  failed = 0
  skipped = 0
  readonly networks = new Set<string>()
  readonly #folder = mkdtempSync(join(tmpdir(), 'tidegate-blockchain-tests-'))
  readonly #report: (line: string) => void
  readonly #testsOfFile: number

  /** `report` gets a line for each test that failed or was skipped. Of each file, the first `testsOfFile` are run. */
  constructor(report: (line: string) => void, testsOfFile = Number.POSITIVE_INFINITY) {
    this.#report = report
    this.#testsOfFile = testsOfFile
  }

  async run(path: string, text: string): Promise<void> {
    const tests = JSON.parse(text) as Readonly<Record<string, JsonChainTest>>
    for (const [name, test] of Object.entries(tests).slice(0, this.#testsOfFile)) {
      if (test.blocks === undefined || test.genesisBlockHeader === undefined) {
        this.skipped++
        this.#report(`skipped ${path} ${name}: it is no blockchain test`)
        continue
      }
      this.networks.add(test.network)
      const storePath = join(this.#folder, 'chain.mdb')
      const problem = await problemOf(runChainTest(test, storePath))
      rmSync(storePath, { recursive: true, force: true })
      rmSync(`${storePath}-lock`, { force: true })
      if (problem === undefined) this.passed++
      else {
        this.failed++
        this.#report(`failed ${path} ${name}: ${problem}`)
      }
    }
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

async function problemOf(run: Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await run
  } catch (error) {
    return `thrown: ${error instanceof Error ? (error.stack ?? error.message) : error}`
  }
}
