/**
 * Memory of the server under the production profile with default limits, and its parts. Runs until the caches are as
 * full as this profile makes them; the target is for the highest resident memory.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { saturate, targetOf, withConnections } from '../load/httpLoader.js'
import { productionQuestion } from '../load/productionMix.js'
import type { Side } from '../report/outcome.js'
import type { ServerProcess } from '../servers/serverProcess.js'
import { startTidegate } from '../servers/tidegateServer.js'
import type { SpecialScenario } from './specialScenario.js'

/** Memory stops growing well before the end of a whole run; a short one sees most of it. */
const secondsWhole = 60
const secondsQuick = 15

const reportName = 'memory.json'
const reportMsMax = 10_000

/** The members of Node's diagnostic report that are used, in bytes. */
interface HeapReport {
  readonly javascriptHeap: { readonly totalCommittedMemory: number; readonly externalMemory: number }
  readonly workers?: readonly HeapReport[]
}

export const memory: SpecialScenario = {
  name: 'memory',
  title: 'memory under the production profile',
  async run({ folder, settings, server: options, network }) {
    const reportFlags = [
      '--report-on-signal',
      `--report-directory=${folder}`,
      `--report-filename=${reportName}`,
    ]
    const nodeFlags = [...(options.nodeFlags ?? []), ...reportFlags, '--report-exclude-network']
    const server = await startTidegate(folder, [await network('demo')], { ...options, nodeFlags })
    try {
      let n = 0
      const before = server.cpuSeconds()
      const { answers, seconds } = await withConnections(
        targetOf(server.said),
        settings.connections,
        (open) =>
          saturate(open, settings.isQuick ? secondsQuick : secondsWhole, () => productionQuestion(n++)),
      )
      const after = server.cpuSeconds()
      const isKnown = before !== undefined && after !== undefined
      const own: Side = {
        rate: answers / seconds,
        rateSpread: 0,
        cpuMicros: isKnown ? ((after - before) * 1e6) / answers : undefined,
        busy: isKnown ? (after - before) / seconds : undefined,
        ...server.memory(),
      }
      const heaps = await readHeaps(server, join(folder, reportName))
      return { unit: 'requests', own, rivals: {}, ratios: {}, note: `${compositionOf(own)}${heaps}` }
    } finally {
      await server.stop()
    }
  },
}

function compositionOf({ residentBytes, anonymousBytes, peakResidentBytes }: Side): string {
  if (residentBytes === undefined || anonymousBytes === undefined) return ''
  const files = megabytes(residentBytes - anonymousBytes)
  return `at most ${megabytes(peakResidentBytes ?? residentBytes)} MB; now ${files} of mapped files, `
}

/** What V8 holds in all threads, by the diagnostic report that Node.js writes at a signal. */
async function readHeaps({ pid }: ServerProcess, path: string): Promise<string> {
  process.kill(pid, 'SIGUSR2')
  const main = await readReport(path)
  const all = [main, ...(main.workers ?? [])].map(({ javascriptHeap }) => javascriptHeap)
  const sum = (key: keyof HeapReport['javascriptHeap']) => all.reduce((bytes, heap) => bytes + heap[key], 0)
  return (
    `${megabytes(sum('totalCommittedMemory'))} in heaps of ${all.length} threads, ` +
    `${megabytes(sum('externalMemory'))} in buffers`
  )
}

async function readReport(path: string): Promise<HeapReport> {
  for (let waitedMs = 0; waitedMs < reportMsMax; waitedMs += 100) {
    await setTimeout(100)
    if (!existsSync(path)) continue
    try {
      return JSON.parse(readFileSync(path, 'utf8')) as HeapReport
    } catch {
      // It is still being written.
    }
  }
  throw new Error('the server wrote no diagnostic report')
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0)
}
