/**
 * Runs test files one after another in this process, each as a subtest. Loading what tests import, and starting a
 * server of the fixtures, costs more than most of them; here it is done once.
 */
import { register } from 'node:module'
import { relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { shareService } from '../service/service.js'
import { reportCpu } from './cpuSeconds.js'
import { enter } from './currentTest.js'

register('./tapHook.js', import.meta.url)
const stopShared = shareService()
const files = process.argv.slice(2)
// The library names folders after the words of the command line.
process.argv.splice(1, process.argv.length, ...files.slice(0, 1))
const { t } = await import('tap')
t.plan(files.length)
for (const file of files) {
  await t.test(relative(process.cwd(), file), async (test) => {
    enter(test)
    await import(pathToFileURL(resolve(file)).href)
  })
  reportCpu(relative(process.cwd(), file))
}
await stopShared()
