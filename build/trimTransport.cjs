/**
 * Runs after `npm ci` in the repository and before `npm pack`. The packages of uWebSockets.js have the binaries of all
 * systems, 370 MB. This removes those that neither this system nor the packed package uses, and gives the installed
 * copies a list of `files`, which `npm pack` follows: it bundles the binaries of Linux for the versions of Node.js in
 * `engines` that they have one for. Other systems are served by node:http, or install uWebSockets.js themselves.
 */
const { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')

const platforms = ['linux_x64', 'linux_arm64']
/** Node.js 20, 22 and 24, by the version of their binary interface. */
const abis = [115, 127, 137]
/** What each build serves: the second what the first cannot, systems with an older C library, which Node.js 20 runs on. */
const builds = { 'uWebSockets.js': abis, uwebsockets: abis.slice(0, 1) }

for (const [name, wanted] of Object.entries(builds)) trim(join(__dirname, '../node_modules', name), wanted)

function trim(folder, wanted) {
  const packed = platforms.flatMap((platform) => wanted.map((abi) => `uws_${platform}_${abi}.node`))
  const binaries = readdirSync(folder).filter((name) => name.endsWith('.node'))
  for (const name of packed) {
    if (!binaries.includes(name))
      throw new Error(`${folder} has no ${name}; correct the list in build/trimTransport.cjs`)
  }
  const own = wanted.map((abi) => `uws_${process.platform}_${process.arch}_${abi}.node`)
  for (const name of binaries) {
    if (![...packed, ...own].includes(name)) rmSync(join(folder, name))
  }
  const path = join(folder, 'package.json')
  const manifest = JSON.parse(readFileSync(path, 'utf8'))
  const licence = existsSync(join(folder, 'LICENSE')) ? ['LICENSE'] : []
  manifest.files = ['uws.js', 'ESM_wrapper.mjs', 'index.d.ts', ...licence, ...packed]
  // Not in place: other installations may share the file by a hard link.
  writeFileSync(`${path}.new`, `${JSON.stringify(manifest, undefined, 2)}\n`)
  renameSync(`${path}.new`, path)
}
