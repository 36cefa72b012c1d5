/** The commands that make and change API keys. */
import { resolveDataConfig } from '../config/config.js'
import {
  type Command,
  common,
  defineCommand,
  type Flag,
  listFlag,
  patternFlag,
  switchFlag,
  textFlag,
} from './commandLine.js'

const json = switchFlag('print JSON instead of text')

/** A scope: entries of one kind, of which one must fit. */
function scopeFlag(placeholder: string, summary: string): Flag<readonly string[]> {
  return listFlag(placeholder, `${summary}; may be given several times, * is all`, {
    isValid: (text) => text !== '',
    expected: 'a value that is not empty',
  })
}

/** A limit: a number, or `none`. */
function limitFlag(summary: string): Flag<string> {
  return patternFlag('N', `${summary}; none removes it`, /^(?:[0-9]{1,15}|none)$/, 'an integer, or none')
}

const settings = {
  network: scopeFlag('NAME', 'a network that it may use'),
  method: scopeFlag('METHOD', 'a method that it may call, or eth_* for all that begin so'),
  origin: scopeFlag('ORIGIN', 'pages that it may be used from, as in https://app.example.org'),
  address: scopeFlag('ADDRESS', 'an IP address or block that it may be used from, as in 10.0.0.0/8'),
  expires: textFlag('TIME', 'when it ends: 90d from now, 2027-01-31, 2027-01-31T12:00:00Z, or never'),
  requestsPerSecond: limitFlag('calls per second, those of batches one by one'),
  requestsBurst: limitFlag('calls at once (without it: those of one second, at least 10)'),
  unitsPerSecond: limitFlag('compute units per second'),
  unitsBurst: limitFlag('compute units at once (without it: those of ten seconds, at least 25000)'),
  unitsPerDay: limitFlag('compute units from midnight to midnight, UTC'),
  sockets: limitFlag('WebSockets at the same time'),
  subscriptions: limitFlag('subscriptions at the same time, of all its WebSockets'),
  weight: limitFlag('share of the pool of threads when it is full, 1 to 100 (without it: 1)'),
}

const oneKey = { placeholder: 'KEY', summary: 'name or id of the key', min: 1, max: 1 }

const create = defineCommand({
  name: 'keys create',
  summary: 'make an API key and print it, once',
  description: [
    'Makes a key and prints it on standard output. Only its hash is stored, so nobody can print it again. It works at once, also with a server that is running on the same data folder.',
    'A key may be bound to networks, methods, origins and addresses: all kinds that are given must fit, and of each kind one entry. Without flags it may do everything.',
  ],
  flags: {
    name: textFlag('NAME', 'purpose of the key: 1 to 64 printable characters', { isRequired: true }),
    ...settings,
    json,
    ...common,
  },
  examples: [
    ['tidegate keys create --name "block explorer"', 'a key named after its user'],
    [
      "tidegate keys create --name shop --method 'eth_*' --origin https://shop.example.org",
      'a key for a page, and for the methods that begin so',
    ],
    ['tidegate keys create --name trial --expires 14d --units-per-day 5000000', 'a key for a trial'],
  ],
  run: async ({ json, ...flags }, _words, io) =>
    (await import('./keys.js')).createKey(resolveDataConfig(flags), flags, json ?? false, io),
})

const set = defineCommand({
  name: 'keys set',
  summary: 'change the rights of an API key',
  description: [
    'Changes only the settings of the given flags; a list replaces the one before. Running servers follow within a second, and WebSockets that no longer fit are closed.',
  ],
  flags: { name: textFlag('NAME', 'another name'), ...settings, json, ...common },
  positionals: oneKey,
  examples: [
    ['tidegate keys set shop --method eth_call --method eth_chainId', 'these two methods alone'],
    ["tidegate keys set shop --method '*' --units-per-day none", 'all methods, and no quota'],
  ],
  run: async ({ json, ...flags }, [key], io) =>
    (await import('./keys.js')).setKey(resolveDataConfig(flags), key ?? '', flags, json ?? false, io),
})

const show = defineCommand({
  name: 'keys show',
  summary: 'show the rights of an API key',
  description: ['Shows the state, scopes and limits of a key. Its text is stored nowhere.'],
  flags: { json, ...common },
  positionals: oneKey,
  examples: [['tidegate keys show shop', 'by name; revoked keys by id']],
  run: async (flags, [key], io) =>
    (await import('./keys.js')).showKey(resolveDataConfig(flags), key ?? '', flags.json ?? false, io),
})

const list = defineCommand({
  name: 'keys list',
  summary: 'list the API keys and their state',
  description: ['Lists every key that was ever made, oldest first: id, name, when it was made, its state.'],
  flags: { json: switchFlag('print a JSON array instead of a table'), ...common },
  examples: [
    ['tidegate keys list', 'a table'],
    ['tidegate keys list --json', 'the same for programs'],
  ],
  run: async (flags, _words, io) =>
    (await import('./keys.js')).listKeys(resolveDataConfig(flags), flags.json ?? false, io),
})

const rotate = defineCommand({
  name: 'keys rotate',
  summary: 'give an API key a new secret, and end the earlier one later',
  description: [
    'Makes a new secret for a key and prints it, once. Name, id, scopes, limits and usage stay. The earlier secret is valid for the overlap, so that clients can change over; one that was still valid from a rotation before ends at once.',
  ],
  flags: {
    overlap: textFlag('TIME', 'how long the earlier secret stays valid, as in 24h or 30m; 0 ends it', {
      shownDefault: '24h',
    }),
    json,
    ...common,
  },
  positionals: oneKey,
  examples: [['tidegate keys rotate shop --overlap 7d', 'a week to change over']],
  run: async (flags, [key], io) =>
    (await import('./keys.js')).rotateKey(
      resolveDataConfig(flags),
      key ?? '',
      flags.overlap ?? '24h',
      flags.json ?? false,
      io,
    ),
})

const jwt = defineCommand({
  name: 'keys jwt',
  summary: 'let a signer make short-lived tokens that stand for an API key',
  description: [
    'Adds a signer of JSON Web Tokens to a key, or removes one. A token stands for the key, with its scopes and limits, until it ends: its kid is the id of the key, its alg ES256 or HS256, its exp at most 60 minutes ahead. It comes as Authorization: Bearer TOKEN.',
    'Of ES256 the store has the public key alone; the secret of HS256 is kept encrypted with the pepper.',
  ],
  flags: {
    publicKey: textFlag('FILE', 'public key of the signer (PEM, P-256), for ES256'),
    secretFile: textFlag('FILE', 'secret that the signer shares, of at least 32 bytes, for HS256'),
    audience: textFlag('TEXT', 'the value that aud of its tokens must be or contain', {
      shownDefault: 'anything',
    }),
    subject: textFlag('TEXT', 'the value that sub of its tokens must be', { shownDefault: 'anything' }),
    ...common,
  },
  positionals: {
    placeholder: 'add|remove KEY SIGNER',
    summary: 'a key, and of remove the id of a signer',
    min: 2,
    max: 3,
  },
  examples: [
    ['tidegate keys jwt add shop --public-key signer.pem', 'tokens that the private key signs'],
    ['tidegate keys jwt remove shop 5f0c9a1e', 'end the signer with this id, and its tokens'],
  ],
  run: async (flags, words, io) =>
    (await import('./keys.js')).changeSigners(resolveDataConfig(flags), words, flags, io),
})

const revoke = defineCommand({
  name: 'keys revoke',
  summary: 'end an API key for good',
  description: [
    'Revokes a key. Running servers refuse it within a second. A revoked key cannot be brought back; its name may be used again.',
  ],
  flags: common,
  positionals: oneKey,
  examples: [['tidegate keys revoke 3f9a1c0be27d', 'end the key with this id']],
  run: async (flags, [key], io) =>
    (await import('./keys.js')).revokeKey(resolveDataConfig(flags), key ?? '', io),
})

const share = defineCommand({
  name: 'keys share',
  summary: 'copy the API keys of a data folder into the database of shared keys',
  description: [
    'Copies keys that were made in the data folder into the database that "shared" of the configuration names, where all processes with that database accept them: ids, secrets, scopes, limits, expiry, signers of tokens and revocations, with one entry in the audit log for each. All are copied or none, and a second run copies what is new. Nothing is removed from the data folder.',
    'Refused where the shared keys have another pepper, where a key was changed since it was shared, and where another shared key has its name.',
  ],
  flags: common,
  positionals: {
    placeholder: 'KEY',
    summary: 'name or id of a key; all, where none is named',
    min: 0,
    max: 100,
  },
  examples: [
    ['tidegate keys share --config tidegate.json', 'all keys of the data folder'],
    ['tidegate keys share shop 3f9a1c0be27d --config tidegate.json', 'these two'],
  ],
  run: async (flags, chosen, io) =>
    (await import('./shareKeys.js')).shareFolderKeys(resolveDataConfig(flags), chosen, io),
})

/** Commands in the order of the help text. */
export const keyCommands: readonly Command[] = [create, set, show, list, rotate, jwt, revoke, share]
