/** Entry of a process whose exit status says whether a process listens on a socket; see writerLock.ts. */
import { connect } from 'node:net'
import { holderStatus } from './helperProcess.js'

const [path] = process.argv.slice(2)
if (path === undefined) throw new Error('this takes the path of a socket')
const socket = connect(path)
  .on('connect', () => socket.destroy())
  .on('error', (error: NodeJS.ErrnoException) => {
    switch (error.code) {
      case 'ENOENT':
      case 'ECONNREFUSED':
        process.exitCode = holderStatus.nobodyListens
        return
      // The listen queue of the holder is full.
      case 'EAGAIN':
        process.exitCode = holderStatus.listens
        return
      default:
        throw error
    }
  })
