/**
 * Memory of the server under the production profile with default limits, until the caches are full, and during a long
 * trace. The targets are for the highest resident memory. For the trace, the memory before it is subtracted, after
 * short traces have loaded all code.
 */
import { saturate, targetOf, withConnections } from '../load/httpLoader.js'
import { productionQuestion } from '../load/productionMix.js'
import { rpc } from '../load/rpc.js'
import { withCpu } from '../servers/serverProcess.js'
import { onDemo, type SpecialScenario } from './specialScenario.js'

/** Memory stops growing well before the end of a whole run; a short one sees most of it. */
const secondsWhole = 60
const secondsQuick = 10

export const memory: SpecialScenario = {
  name: 'memory',
  title: 'memory under the production profile',
  seconds: ({ isQuick }) => (isQuick ? 15 : 65),
  run: (context) =>
    onDemo(context, async (server) => {
      const { connections, isQuick } = context.settings
      let n = 0
      const [{ answers, seconds }, cpu] = await withCpu(server, () =>
        withConnections(targetOf(server.said), connections, (open) =>
          saturate(open, isQuick ? secondsQuick : secondsWhole, () => productionQuestion(n++)),
        ),
      )
      const own = {
        rate: answers / seconds,
        rateSpread: 0,
        cpuMicros: cpu && (cpu * 1e6) / answers,
        busy: cpu && cpu / seconds,
        ...server.memory(),
      }
      const note = `at most ${((own.peakResidentBytes ?? 0) / 1e6).toFixed(0)} MB`
      return { unit: 'requests', own, rivals: {}, ratios: {}, note }
    }),
}

/** Instructions of the trace: some 60 MB, without growing stacks. */
const steps = 1_000_000
/** Instructions of one round of the loop, and its gas. */
const roundSteps = 3
const roundGas = 11
const startGas = 21_000
/** Short traces before the long one. */
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
  seconds: () => 8,
  run: (context) =>
    onDemo(context, async (server) => {
      const resident = () => server.memory().residentBytes ?? 0
      for (let n = 0; n < warmUps; n++) await read(server.said, loopTrace(steps / 50))
      const before = resident()
      let peak = before
      const sampler = setInterval(() => {
        peak = Math.max(peak, resident())
      }, sampleMs)
      const startedAtMs = performance.now()
      const bytes = await read(server.said, loopTrace(steps))
      const seconds = (performance.now() - startedAtMs) / 1_000
      clearInterval(sampler)
      const own = { rate: steps / seconds, rateSpread: 0, peakResidentBytes: peak - before }
      const note = `${(bytes / 1e6).toFixed(0)} MB sent in ${seconds.toFixed(1)} s, idle ${(before / 1e6).toFixed(0)} MB`
      return { unit: 'instructions', own, rivals: {}, ratios: {}, note }
    }),
}

/** Reads and discards an answer; returns its length. */
async function read(url: string, body: string): Promise<number> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body })
  let bytes = 0
  for await (const chunk of response.body ?? []) bytes += (chunk as Uint8Array).length
  return bytes
}
