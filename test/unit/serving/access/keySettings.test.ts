import t from 'tap'
import { parseKeySettings } from '../../../../src/serving/access/keySettings.js'

t.test('a name is 1 to 64 printable characters', async (t) => {
  for (const name of ['a', 'x'.repeat(64), 'Größe 7 – Москва', '🌊'.repeat(64), 'a b']) {
    t.equal(parseKeySettings({ name }).name, name)
  }
  t.equal(parseKeySettings({ name: 'e\u0301' }).name, '\u00e9', 'composed, so that equal names look equal')
  const tooLong = 'x'.repeat(65)
  const invisible = ['a\nb', 'a\u001b[31m', 'a\u202eb', '\u200b', 'a\u0000']
  for (const name of ['', ' ', ' a', 'a ', tooLong, ...invisible]) {
    t.throws(() => parseKeySettings({ name }), {
      name: 'UsageError',
      message: /^a key needs a name of 1 to 64/,
    })
  }
})

t.test('scopes are kept in the form in which they are compared', async (t) => {
  t.strictSame(
    parseKeySettings({
      scopes: {
        networks: ['main', 'main', 'demo'],
        methods: ['eth_*', 'net_version'],
        origins: ['https://App.Example.org:443/', 'http://localhost:3000'],
        addresses: ['10.0.0.0/8', '2001:DB8::/32', '127.0.0.1'],
      },
    }).scopes,
    {
      networks: ['main', 'demo'],
      methods: ['eth_*', 'net_version'],
      origins: ['https://app.example.org', 'http://localhost:3000'],
      addresses: ['10.0.0.0/8', '2001:db8::/32', '127.0.0.1'],
    },
  )
  t.strictSame(parseKeySettings({ scopes: { methods: ['eth_call', '*'] } }).scopes, { methods: [] })
})

t.test('a faulty value is named, and all of them at once', async (t) => {
  const cases: readonly (readonly [object, RegExp])[] = [
    [
      { scopes: { networks: ['a/b'] } },
      /^scopes\.networks\.0: expected the name of a network or \*, got "a\/b"$/,
    ],
    [{ scopes: { methods: ['*_call'] } }, /^scopes\.methods\.0: expected the name of a method/],
    [{ scopes: { origins: ['app.example.org'] } }, /^scopes\.origins\.0: expected an origin such as/],
    [{ scopes: { origins: ['https://a.b/c'] } }, /^scopes\.origins\.0: /],
    [{ scopes: { origins: ['https://*.b'] } }, /^scopes\.origins\.0: /],
    [{ scopes: { origins: ['null'] } }, /^scopes\.origins\.0: /],
    [{ scopes: { addresses: ['10.0.0.0/33'] } }, /^scopes\.addresses\.0: expected an IP address or block/],
    [
      { scopes: { addresses: ['10.0.0/8', 'fe80::1%eth0'] } },
      /^scopes\.addresses\.0: .*; scopes\.addresses\.1: /,
    ],
    [{ scopes: { methods: Array(101).fill('eth_call') } }, /^scopes\.methods: at most 100 entries$/],
    [
      { limits: { unitsPerDay: 1.5 } },
      /^limits\.unitsPerDay: expected an integer from 1 to 1000000000000, or null/,
    ],
    [
      { limits: { weight: 101, sockets: -1 } },
      /limits\.sockets: .*; limits\.weight: expected an integer from 1 to 100/,
    ],
    [
      { expiresAt: 'tomorrow' },
      /^expiresAt: expected a time such as 2027-01-31T00:00:00Z, or null \(as a flag: never\) for never$/,
    ],
    [{ scope: {} }, /scope/],
    [{ limits: { unitsPerHour: 1 } }, /unitsPerHour/],
  ]
  for (const [settings, message] of cases) {
    t.throws(
      () => parseKeySettings(settings),
      { name: 'UsageError', message },
      JSON.stringify(settings).slice(0, 80),
    )
  }
})
