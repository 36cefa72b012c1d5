/**
 * Entry of a process that frees the reader slots of dead processes. Its exit status says whether a given pid has slots;
 * see readerPids.ts. It needs a pid of its own, because LMDB does not check slots of the pid that it runs under.
 */
import { open } from 'lmdb'
import { readersStatus } from './helperProcess.js'

const [path, mapBytes, pid] = process.argv.slice(2)
if (path === undefined || mapBytes === undefined || pid === undefined) {
  throw new Error('this takes the path of a store, the bytes of its map and a pid')
}
const environment = open({
  path,
  noSubdir: true,
  readOnly: true,
  mapSize: Number(mapBytes),
  encoding: 'binary',
  keyEncoding: 'binary',
  cache: false,
})
environment.readerCheck()
const pids = environment.readerList().match(/^\s*\d+ /gm) ?? []
if (pids.some((each) => each.trim() === pid)) process.exitCode = readersStatus.pidIsTaken
