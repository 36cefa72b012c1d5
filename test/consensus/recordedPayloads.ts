/** Payloads that go-ethereum found valid in a recording of `../shared/engine`, each once, by ascending number. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { GivenPayload } from './beaconChain.js'
import { engineRecordings } from './engineRecordings.js'

interface Exchange {
  readonly method?: string
  readonly params: readonly unknown[]
  readonly result?: { readonly status?: string }
}

/** `"<text*N>"` is the text N times. */
const repeated = /<([0-9a-f]+)\*(\d+)>/g

export function recordedPayloads(file: string): GivenPayload[] {
  const lines = readFileSync(join(engineRecordings, file), 'utf8').trim().split('\n').slice(1)
  const exchanges = lines.map((line): Exchange => {
    const whole = line.replace(repeated, (_, text: string, times: string) => text.repeat(Number(times)))
    return JSON.parse(whole)
  })
  const payloads = new Map<string, GivenPayload>()
  for (const { method = '', params, result } of exchanges) {
    const [payload, , parentRoot, requests] = params as [
      GivenPayload['payload'],
      string[]?,
      string?,
      string[]?,
    ]
    if (!method.startsWith('engine_newPayload') || result?.status !== 'VALID') continue
    if (typeof payload !== 'object') continue
    payloads.set(String(payload.blockHash), {
      payload,
      parentRoot,
      requests,
    })
  }
  return [...payloads.values()]
}
