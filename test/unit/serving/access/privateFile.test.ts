import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  createPrivateFile,
  readPrivateFile,
  replacePrivateFile,
} from '../../../../src/serving/access/privateFile.js'

t.test('a private file is its owner’s alone and leaves nothing beside it', async (t) => {
  const folder = t.testdir()
  const path = join(folder, 'secret')
  t.equal(createPrivateFile(path, Buffer.from('one')), true)
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(readPrivateFile(path)?.toString(), 'one')
  t.strictSame(readdirSync(folder), ['secret'])
})

t.test('creating never replaces, replacing does', async (t) => {
  const folder = t.testdir()
  const path = join(folder, 'secret')
  createPrivateFile(path, Buffer.from('one'))
  t.equal(createPrivateFile(path, Buffer.from('two')), false)
  t.equal(readPrivateFile(path)?.toString(), 'one')
  replacePrivateFile(path, Buffer.from('three'))
  t.equal(readPrivateFile(path)?.toString(), 'three')
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.strictSame(readdirSync(folder), ['secret'])
})

t.test('a file that is not there reads as undefined', async (t) => {
  t.equal(readPrivateFile(join(t.testdir(), 'none')), undefined)
})

t.test('a file that others can read, write or run is refused', async (t) => {
  const path = join(t.testdir(), 'secret')
  writeFileSync(path, 'one')
  for (const mode of [0o644, 0o640, 0o604, 0o620, 0o601]) {
    chmodSync(path, mode)
    t.throws(() => readPrivateFile(path), {
      name: 'OperatorError',
      message: `other users can read the secret in ${path} (mode 0${mode.toString(8)}); run: chmod 600 ${path}`,
    })
  }
  chmodSync(path, 0o400)
  t.equal(readPrivateFile(path)?.toString(), 'one')
})

t.test('a folder that is not there is named', async (t) => {
  const path = join(t.testdir(), 'none/secret')
  t.throws(() => createPrivateFile(path, Buffer.from('one')), {
    name: 'OperatorError',
    message: `cannot write ${path} (ENOENT); check the folder's permissions and the free disk space`,
  })
})
