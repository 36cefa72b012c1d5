/**
 * The bare server for comparison: uWebSockets.js that reads a JSON-RPC body and answers fixed bytes, with Tidegate's
 * header. Several answers are sent in rotation, so that their sizes have the same shares as those of the original
 * server. At the path `/after/MICROS` it works that long before each answer: no server that works as long for one could
 * answer sooner. Started as `node bareServer.js <JSON file with an array of answers>`; prints its port.
 */
import type { HttpResponse } from 'uWebSockets.js'
import { readFileSync } from 'node:fs'
import { uWS } from '../../src/serving/transport/uws/library.js'

const texts = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as string[]
const answers = texts.map((text) => Buffer.from(text))
let turn = 0

function serve(res: HttpResponse, work?: () => void): void {
  res.onAborted(() => undefined)
  res.onData((_chunk, isLast) => {
    if (!isLast) return
    work?.()
    const answer = answers[turn] as Buffer
    turn = turn + 1 === answers.length ? 0 : turn + 1
    res.cork(() => {
      res.writeHeader('content-type', 'application/json')
      res.end(answer)
    })
  })
}

function spin(micros: number): void {
  const endMs = performance.now() + micros / 1_000
  while (performance.now() < endMs);
}

uWS
  .App()
  .post('/*', (res) => serve(res))
  .post('/after/:micros', (res, req) => {
    const micros = Number(req.getParameter(0))
    serve(res, () => spin(micros))
  })
  .listen('127.0.0.1', 0, (socket) => {
    if (socket === false) throw new Error('no port to listen on')
    console.log(uWS.us_socket_local_port(socket))
  })
