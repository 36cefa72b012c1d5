/**
 * Every file of the program that is started as a process or a thread. The build makes a file in `dist` of each
 * (build/build.mjs), and `packageRoot.ts` gives its address by its name here. An unlisted name does not compile.
 * JavaScript, because the build reads this list before anything is compiled.
 */

/** Each is built alone, with all its modules in few files: a thread loads only what it runs. */
export const aloneFiles = {
  main: 'src/main',
  connectToHolder: 'src/data/store/lmdb/connectToHolder',
  walkStore: 'src/data/store/lmdb/walkStore',
  clearReaders: 'src/data/store/lmdb/clearReaders',
  copyProcess: 'src/data/store/lmdb/copyProcess',
  verifyProcess: 'src/operation/commands/verifyProcess',
  edge: 'workers/edge',
  ingest: 'workers/ingest',
  recover: 'workers/recover',
  scriptThread: 'workers/scriptThread',
}

/** Entries of the pool's threads. A thread loads several of them, so they share their modules. */
export const poolFiles = {
  session: 'workers/session',
  compute: 'workers/compute',
  execute: 'workers/execute',
  read: 'workers/read',
  script: 'workers/script',
  trace: 'workers/trace',
}

export const startedFiles = { ...aloneFiles, ...poolFiles }
