import t from 'tap'
import { isKeyText, keyTextChars, makeKeyText, redactText } from '../../../../src/serving/access/keyText.js'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

t.test('a new key has the documented shape and no two are equal', async (t) => {
  const texts = new Set(Array.from({ length: 1_000 }, makeKeyText))
  t.equal(texts.size, 1_000)
  for (const text of texts) if (!/^tg_[0-9A-Za-z]{49}$/.test(text) || !isKeyText(text)) t.fail(text)
  t.equal(keyTextChars, 52)
})

t.test('the checksum is CRC-32 in base 62', async (t) => {
  // Computed apart from this code: CRC-32 of "tg_" and 43 zeros is 0xb6693006.
  const start = `tg_${'0'.repeat(43)}`
  t.ok(isKeyText(`${start}${toBase62(0xb6693006)}`))
})

t.test('every slip of one character, every swap and every cut is found', async (t) => {
  const text = makeKeyText()
  for (let at = 3; at < text.length; at++) {
    for (const character of alphabet) {
      const slipped = text.slice(0, at) + character + text.slice(at + 1)
      if (slipped !== text && isKeyText(slipped)) t.fail(`slip at ${at}`)
    }
    const [a = '', b = ''] = [text[at - 1], text[at]]
    const swapped = text.slice(0, at - 1) + b + a + text.slice(at + 1)
    if (at > 3 && a !== b && isKeyText(swapped)) t.fail(`swap at ${at}`)
    if (isKeyText(text.slice(0, at))) t.fail(`cut at ${at}`)
  }
  for (const wrong of [
    '',
    'tg_',
    `${text} `,
    `${text}\n`,
    text.toUpperCase(),
    `x${text.slice(1)}`,
    `${text}0`,
  ]) {
    t.equal(isKeyText(wrong), false, wrong)
  }
})

t.test('keys, whole or cut, are taken out of texts for logs', async (t) => {
  const text = makeKeyText()
  t.equal(redactText(`POST /v3/${text}?x=${text} failed`), 'POST /v3/tg_…?x=tg_… failed')
  t.equal(redactText(text.slice(0, 20)), 'tg_…')
  t.equal(redactText('a tg_ prefix alone stays'), 'a tg_ prefix alone stays')
})

t.test('of URLs, scheme and host stay', (t) => {
  const cases = [
    ['constructed from: http://user:pass@node.example/key.', 'constructed from: http://node.example/….'],
    ['("wss://[::1]:8546/v3/k?x=1", postgres://a:b@db/c)', '("wss://[::1]:8546/…", postgres://db/…)'],
    ['{"why":"https://a:p\\"}', '{"why":"…\\"}'],
    ['HTTPS://a:b@c@d/', '…'],
    ['at http://127.0.0.1:8545/, http://…/…', 'at http://127.0.0.1:8545/, …'],
    ['file:///srv/main.js:1:2 and docs/rollup.md', 'file:///srv/main.js:1:2 and docs/rollup.md'],
  ] as const
  for (const [text, shown] of cases) t.equal(redactText(text), shown)
  t.end()
})

function toBase62(value: number): string {
  let text = ''
  for (let rest = value; text.length < 6; rest = Math.floor(rest / 62)) text = alphabet[rest % 62] + text
  return text
}
