/**
 * Runs after `npm ci` in the repository and before `npm pack`. The package of uWebSockets.js has the binaries of all
 * systems, 257 MB. This removes those that neither this system nor the packed package uses, and gives the installed
 * copy a list of `files`, which `npm pack` follows: it bundles the binaries of Linux for the versions of Node.js in
 * `engines` that it has one for. Other systems are served by node:http, or install uWebSockets.js themselves.
 */
const { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')

const folder = join(__dirname, '../node_modules/uWebSockets.js')
const platforms = ['linux_x64', 'linux_arm64']
/** Node.js 20, 22 and 24, by the version of their binary interface. */
const abis = [115, 127, 137]

const packed = platforms.flatMap((platform) => abis.map((abi) => `uws_${platform}_${abi}.node`))
const binaries = readdirSync(folder).filter((name) => name.endsWith('.node'))
for (const name of packed) {
  if (!binaries.includes(name))
    throw new Error(`uWebSockets.js has no ${name}; correct the list in build/trimTransport.cjs`)
}
const own = abis.map((abi) => `uws_${process.platform}_${process.arch}_${abi}.node`)
for (const name of binaries) {
  if (![...packed, ...own].includes(name)) rmSync(join(folder, name))
}
const path = join(folder, 'package.json')
const manifest = JSON.parse(readFileSync(path, 'utf8'))
manifest.files = ['uws.js', 'ESM_wrapper.mjs', 'index.d.ts', 'LICENSE', ...packed]
// Not in place: other installations may share the file by a hard link.
writeFileSync(`${path}.new`, `${JSON.stringify(manifest, undefined, 2)}\n`)
renameSync(`${path}.new`, path)
