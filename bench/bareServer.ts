/**
 * The yardstick: uWebSockets.js that takes a JSON-RPC body in and answers bytes fixed beforehand, with the headers
 * that Tidegate sends. Started as `node bareServer.js <file with the body to answer>`; prints its port.
 */

import uWS from 'uWebSockets.js'
import { readFileSync } from 'node:fs'

const answer = readFileSync(process.argv[2] as string)

uWS
  .App()
  .post('/*', (res) => {
    res.onAborted(() => undefined)
    res.onData((_chunk, isLast) => {
      if (!isLast) return
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
