/**
 * Runs before `npm pack`. uWebSockets.js is bundled, because its package has the binaries of all systems, 257 MB, and
 * npm knows no other way to leave some out without scripts that run at installation. This gives the installed copy a
 * list of `files`, which npm follows: the binaries of Linux for the versions of Node.js in `engines` that it has one
 * for. Other systems are served by node:http, or install uWebSockets.js themselves.
 */
const { readdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')

const folder = join(__dirname, '../node_modules/uWebSockets.js')
const platforms = ['linux_x64', 'linux_arm64']
/** Node.js 20, 22 and 24, by the version of their binary interface. */
const abis = [115, 127, 137]

const binaries = platforms.flatMap((platform) => abis.map((abi) => `uws_${platform}_${abi}.node`))
const there = new Set(readdirSync(folder))
for (const name of binaries) {
  if (!there.has(name))
    throw new Error(`uWebSockets.js has no ${name}; correct the list in build/trimTransport.cjs`)
}
const path = join(folder, 'package.json')
const manifest = JSON.parse(readFileSync(path, 'utf8'))
manifest.files = ['uws.js', 'ESM_wrapper.mjs', 'index.d.ts', 'LICENSE', ...binaries]
// Not in place: other installations may share the file by a hard link.
writeFileSync(`${path}.new`, `${JSON.stringify(manifest, undefined, 2)}\n`)
renameSync(`${path}.new`, path)
