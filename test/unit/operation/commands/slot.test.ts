import { keccak_256 } from '@noble/hashes/sha3.js'
import t from 'tap'
import { runCommandLine } from '../../../../src/operation/commands/runCommandLine.js'

async function run(...words: string[]) {
  const lines: string[] = []
  const faults: string[] = []
  const io = { out: (text: string) => lines.push(text), err: (text: string) => faults.push(text) }
  const status = await runCommandLine(['slot', ...words], io)
  return { status, out: lines.join('\n'), err: faults.join('\n') }
}

const word = (digits: string) => digits.padStart(64, '0')
const hash = (digits: string) => Buffer.from(keccak_256(Buffer.from(digits, 'hex'))).toString('hex')
const bea = '62a70441e573908b945cb88d617f326c1126007a'

t.test('the examples of its help come out', async (t) => {
  const { out } = await run('--help')
  const examples = [...out.matchAll(/^ {2}tidegate slot (.+)$/gm)].map(([, words = '']) => words)
  const expected: Record<string, string[]> = {
    // By the README of the demo network.
    [`3 0x${bea}`]: ['89ada16c071098675b0d031233638fe8501f042a745832185ad2e6b9e216e254'],
    [`5 0x${bea} 42`]: [hash(word('2a') + hash(word(bea) + word('5')))],
    '--types string 7 ebb': [hash(`656262${word('7')}`)],
    '--each 5 1 2 42': ['1', '2', '2a'].map((key) => hash(word(key) + word('5'))),
    '--types int8 0 -- -1': [hash('f'.repeat(64) + word('0'))],
  }
  t.strictSame(examples, Object.keys(expected))
  for (const example of examples) {
    const slots = expected[example]?.map((digits) => `0x${digits}`).join('\n')
    t.strictSame(await run(...example.split(' ')), { status: 0, out: slots, err: '' }, example)
  }
})

t.test('a slot and keys may be decimal or hex', async (t) => {
  const { out } = await run('5', '42')
  for (const words of [
    ['0x5', '0x2a'],
    [`0x${word('5')}`, `0x${word('2a')}`],
    ['0X05', '0x2A'],
  ]) {
    t.equal((await run(...words)).out, out, words.join(' '))
  }
})

t.test('types say how keys are padded', async (t) => {
  const right = `${'12345678'.padEnd(64, '0')}${word('1')}`
  t.equal((await run('--types', 'bytes4', '1', '0x12345678')).out, `0x${hash(right)}`)
  t.equal((await run('--types', 'bytes', '1', '0x')).out, `0x${hash(word('1'))}`)
  t.equal((await run('--types', 'bool', '1', 'true')).out, `0x${hash(word('1') + word('1'))}`)
  const nested = await run('--types', 'address, string', '6', `0x${bea}`, '42')
  t.equal(nested.out, `0x${hash(`3432${hash(word(bea) + word('6'))}`)}`)
})

t.test('wrong words are named, with what would be right', async (t) => {
  const faults: [words: string[], err: string][] = [
    [['5'], 'slot needs MAPPING KEY; write tidegate slot [flags] MAPPING KEY...'],
    [
      ['five', '1'],
      '"five" is no slot of a mapping; write a decimal number, or 0x and at most 64 hex digits',
    ],
    [
      [String(2n ** 256n), '1'],
      `"${2n ** 256n}" is no slot of a mapping; write a decimal number, or 0x and at most 64 hex digits`,
    ],
    [
      ['5', '1', 'ebb'],
      'key 2: want at most 32 bytes as 0x and hex digits; texts, bytesN and numbers in other notation need their key type, got "ebb"',
    ],
    [['--types', 'int8', '5', '200'], 'key 1: "200" does not fit into int8'],
    [
      ['--types', 'int9', '5', '1'],
      '--types: "int9" is no type of a key; choose from uint8 to uint256, int8 to int256, address, bool, bytes1 to bytes32, bytes or string',
    ],
    [
      ['--types', 'int8,bool', '5', '1'],
      '--types names 2 types for one key; name one for each mapping of the path',
    ],
    [['--type', 'int8', '5', '1'], 'unknown flag --type for slot; did you mean --types?'],
  ]
  for (const [words, err] of faults) {
    t.strictSame(await run(...words), { status: 2, out: '', err: `tidegate: ${err}` }, words.join(' '))
  }
})
