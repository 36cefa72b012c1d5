/** Entry of the thread of an edge other than edge 0. */
import { parentPort, workerData } from 'node:worker_threads'
import type { EdgeData } from '../src/operation/edge/messages.js'
import { runEdge } from '../src/operation/edge/runEdge.js'

if (parentPort === null) throw new Error('this file is the entry of a worker thread')
await runEdge(parentPort, workerData as EdgeData)
