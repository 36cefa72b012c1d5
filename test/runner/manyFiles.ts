/**
 * Runs test files one after another in this process, each as a subtest: `manyFiles.js sharing|alone FILE…`. Files that
 * share the process also share a server of the fixtures: loading their imports and starting that server costs more than
 * most of them.
 */
import { register } from 'node:module'
import { pathToFileURL } from 'node:url'
import { shareService } from '../service/service.js'
import { reportCpu } from './cpuSeconds.js'
import { enter } from './currentTest.js'

register('./tapHook.js', import.meta.url)
const [sharing, ...files] = process.argv.slice(2)
const stopShared = sharing === 'sharing' ? shareService() : undefined
// The library names folders after the words of the command line.
process.argv.splice(1, process.argv.length, ...files.slice(0, 1))
const { t } = await import('tap')
t.plan(files.length)
for (const file of files) {
  await t.test(file.replace(/^.*\/modules\//, ''), async (test) => {
    enter(test)
    await import(pathToFileURL(file).href)
  })
  reportCpu(file)
}
await stopShared?.()
