// @shares
/**
 * The first calls of a script with starknet.py. It executes without options, and so reads the account's class and
 * nonce, a fee and blocks. STARKNETPY=1 installs the package (170 MB) from PyPI into a temporary folder. starknet.js
 * makes the same calls, which starknet.test.ts always runs.
 */
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { findPython } from '../../clients/python.js'
import { runScript } from '../../clients/runScript.js'
import { startRollup } from '../../rollup/rollupService.js'
import { startSequencer } from '../../rollup/sequencer.js'

const python = await findPython(t, {
  test: 'import starknet_py',
  pinned: 'starknet-py==0.30.0',
  variable: 'STARKNETPY',
  megabytes: 170,
})
const skip = 'why' in python && python.why

t.test('an account executes with nothing given but the call', { skip }, async (t) => {
  const { path } = python as { readonly path: string }
  const sequencer = await startSequencer(t)
  const upstream = { url: sequencer.origin, prefix: 'starknet' }
  const service = await startRollup(t, { prefix: 'starknet', upstream })
  const out = await runScript([path, join(packageRoot(), 'test/clients/starknetpy/executes.py')], {
    env: { TIDEGATE_URL: service.url },
  })
  const found = JSON.parse(out.trim().split('\n').at(-1) ?? '')
  t.match(found, {
    nonces: [0, 1],
    hashes: [/^0x/, /^0x/],
    block: 7,
    chain: '0x534e5f5345504f4c4941',
    again: /nonce|exists/i,
  })
})
