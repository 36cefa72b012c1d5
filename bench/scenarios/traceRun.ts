/**
 * Memory of the server while it sends a long trace: every instruction of a loop of a million, some 60 MB without
 * stacks that grow. The target is for the highest resident memory above that before, when short traces have started
 * everything that is needed.
 */

import { rpc } from '../load/rpc.js'
import type { Side } from '../report/outcome.js'
import { startTidegate } from '../servers/tidegateServer.js'
import type { SpecialScenario } from './specialScenario.js'

const steps = 1_000_000
/** Instructions of one round of the loop, and its gas. */
const roundSteps = 3
const roundGas = 11
const startGas = 21_000
/** Short traces before. */
const warmUps = 5
const sampleMs = 20

/** JUMPDEST PUSH0 JUMP until the gas is used up. */
function loopTrace(count: number): string {
  const to = `0x${'c0de'.padStart(40, '0')}`
  const gas = `0x${(startGas + Math.ceil(count / roundSteps) * roundGas).toString(16)}`
  return rpc('debug_traceCall', [{ to, gas }, 'latest', { stateOverrides: { [to]: { code: '0x5b5f56' } } }])
}

export const traceStream: SpecialScenario = {
  name: 'trace-stream',
  title: `trace of ${steps.toLocaleString('en')} instructions, memory above idle`,
  async run({ folder, server: options, network }) {
    const server = await startTidegate(folder, [await network('demo')], options)
    try {
      for (let n = 0; n < warmUps; n++) await read(server.said, loopTrace(steps / 50))
      const before = server.memory().residentBytes ?? 0
      let peak = before
      const sampler = setInterval(() => {
        peak = Math.max(peak, server.memory().residentBytes ?? 0)
      }, sampleMs)
      const startedAtMs = performance.now()
      const bytes = await read(server.said, loopTrace(steps))
      const seconds = (performance.now() - startedAtMs) / 1_000
      clearInterval(sampler)
      const own: Side = { rate: steps / seconds, rateSpread: 0, peakResidentBytes: peak - before }
      const note = `${(bytes / 1e6).toFixed(0)} MB sent in ${seconds.toFixed(1)} s, idle ${(before / 1e6).toFixed(0)} MB`
      return { unit: 'instructions', own, rivals: {}, ratios: {}, note }
    } finally {
      await server.stop()
    }
  },
}

/** Reads an answer and forgets it; its length. */
async function read(url: string, body: string): Promise<number> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body })
  let bytes = 0
  for await (const chunk of response.body ?? []) bytes += (chunk as Uint8Array).length
  return bytes
}
