/** Entry of the thread of one trace by a tracer in JavaScript; see script.ts. */
import { parentPort, workerData } from 'node:worker_threads'
import { loadJavaScript } from '../src/execution/evm/tracers/javascriptEngine.js'
import type { TraceRequest } from '../src/execution/evm/tracers/traceRequest.js'
import { Tracing } from '../src/execution/evm/tracers/tracing.js'
import type { JobSettings } from '../src/serving/pool/jobPool.js'
import { encodeThrown } from '../src/serving/pool/messages.js'
import { readThreadCpuMs } from '../src/serving/pool/threadCpu.js'
import { jobHandler } from './jobThread.js'
import type { ScriptMessage, ScriptThreadData } from './script.js'

const port = parentPort
if (port === null) throw new Error('this file is the entry of a worker thread')
const { message } = workerData as ScriptThreadData

const trace = jobHandler((request: TraceRequest, { store, settings, shouldStop, put }) =>
  new Tracing(store, (settings as JobSettings).trace).trace(request, shouldStop, put),
)

await loadJavaScript()
port.postMessage('begins' satisfies ScriptMessage)
const reply = await trace(message)
// Not on trial, so `long` cannot come.
const encoded = reply === 'long' ? encodeThrown(new Error('a trace was put off')) : reply
const said: ScriptMessage = { reply: encoded, cpuMs: readThreadCpuMs() ?? 0 }
port.postMessage(said, [encoded.buffer])
