/** Entry of a process whose exit status says whether a process listens on a socket; see writerLock.ts. */
import { connect } from 'node:net'
import { nobodyListens } from './writerLock.js'

const [path] = process.argv.slice(2)
if (path === undefined) throw new Error('this takes the path of a socket')
const socket = connect(path)
  .on('connect', () => socket.destroy())
  .on('error', ({ code }: NodeJS.ErrnoException) => {
    process.exitCode = code === 'ENOENT' || code === 'ECONNREFUSED' ? nobodyListens : 1
  })
