// @shares
/** The first calls of users of cast. */
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import t from 'tap'
import { facts } from '../../clients/everyday.js'
import { playPayment } from '../../clients/playedPayment.js'
import { inTime } from '../../library/until.js'
import { owner, startSigners, stranger } from '../../rpc/signers.js'
import { startService } from '../../service/service.js'

/** The program of the package for this system; undefined if there is none. */
function findCast(): string | undefined {
  const system = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('@foundry-rs/cast/package.json'))
    return join(dirname(require.resolve(`@foundry-rs/cast-${system}/package.json`)), 'bin/cast')
  } catch {
    return undefined
  }
}

const program = findCast()
const skip = program === undefined && 'cast has no program for this system'
const service = await startService()
t.teardown(() => service.stop())

function cast(...words: string[]): Promise<string> {
  const ended = new Promise<string>((resolve, reject) => {
    execFile(program ?? '', [...words], { maxBuffer: 2 ** 26 }, (error, out, err) =>
      error === null ? resolve(out.trim()) : reject(new Error(`${error.message}: ${err}`)),
    )
  })
  return inTime(`cast ${words[0]}`, ended)
}
const ask = (...words: string[]) => cast(...words, '--rpc-url', service.origin)

t.test('blocks, accounts, contracts, logs and fees', { skip }, async (t) => {
  t.equal(await ask('chain-id'), String(facts.chainId))
  t.equal(await ask('block-number'), String(facts.head.number))
  t.equal(JSON.parse(await ask('block', 'latest', '--json')).hash, facts.head.hash)
  t.equal(await ask('balance', facts.ada), String(facts.adaBalance))
  t.equal(await ask('nonce', facts.ada), String(facts.adaNonce))
  t.match(await ask('code', facts.tide), /^0x60/)
  t.match(await ask('codesize', facts.tide), /^[1-9]/)
  t.equal(BigInt(await ask('storage', facts.ada, '0')), 0n)
  t.equal((await ask('call', facts.tide, 'totalSupply()(uint256)')).split(' ')[0], String(facts.totalSupply))
  t.equal(await ask('estimate', facts.bea, '--from', facts.ada, '--value', '1'), '21000')
  t.ok(BigInt(await ask('gas-price')) > facts.headBaseFee)
  t.equal(await ask('base-fee'), String(facts.headBaseFee))
  const hash = facts.transaction.hash ?? ''
  t.equal(JSON.parse(await ask('tx', hash, '--json')).blockHash, facts.transaction.blockHash)
  t.equal(JSON.parse(await ask('receipt', hash, '--json')).transactionHash, hash)
  const logs = JSON.parse(await ask('logs', '--address', facts.tide, '--from-block', '0', '--json'))
  t.ok(logs.length > 100)
  t.match(await ask('client'), /^Tidegate/)
  t.match(await ask('proof', facts.tide), 'accountProof')
  t.match(await ask('access-list', facts.tide, 'totalSupply()'), 'gas used')
  t.equal(await ask('rpc', 'eth_accounts'), '[]')
})

t.test('a developer chain signs for who has no key', { skip }, async (t) => {
  const { origin } = await startSigners(t)
  const at = ['--rpc-url', origin]
  const sent = await cast(
    'send',
    stranger,
    '--value',
    '5',
    '--unlocked',
    '--from',
    owner.address,
    '--json',
    ...at,
  )
  t.match(JSON.parse(sent), { status: '0x1', from: owner.address.toLowerCase() })
  t.equal(await cast('balance', stranger, ...at), '5')
  t.match(JSON.parse(await cast('rpc', 'eth_accounts', ...at)), [owner.address.toLowerCase()])
})

t.test('a receipt is waited for', { skip }, async (t) => {
  const { origin, hash, blockHash, play } = await playPayment(t)
  const waiting = cast('receipt', hash, '--json', '--rpc-url', origin)
  await play(2)
  t.equal(JSON.parse(await waiting).blockHash, blockHash)
})
