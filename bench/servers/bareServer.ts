/**
 * The bare server for comparison: uWebSockets.js that reads a JSON-RPC body and answers fixed bytes, with the header
 * that Tidegate sends. Several answers are sent in rotation, so that their sizes have the same shares as from the
 * server that gave them. Started as `node bareServer.js <JSON file with an array of answers>`; prints its port.
 */

import { readFileSync } from 'node:fs'
import { uWS } from '../../src/serving/transport/uws/library.js'

const texts = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as string[]
const answers = texts.map((text) => Buffer.from(text))
let turn = 0

uWS
  .App()
  .post('/*', (res) => {
    res.onAborted(() => undefined)
    res.onData((_chunk, isLast) => {
      if (!isLast) return
      const answer = answers[turn] as Buffer
      turn = turn + 1 === answers.length ? 0 : turn + 1
      res.cork(() => {
        res.writeHeader('content-type', 'application/json')
        res.end(answer)
      })
    })
  })
  .listen('127.0.0.1', 0, (socket) => {
    if (socket === false) throw new Error('no port to listen on')
    console.log(uWS.us_socket_local_port(socket))
  })
