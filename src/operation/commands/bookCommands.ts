/** The commands that show what the node store keeps of the past: what keys used, and who changed what. */

import { UsageError } from '../../primitives/faults.js'
import { resolveDataConfig } from '../config/config.js'
import { type Command, defineCommand, integerFlag, switchFlag, textFlag } from './commandLine.js'
import { common } from './commonFlags.js'

const usage = defineCommand({
  name: 'usage',
  summary: 'show what the API keys used',
  description: [
    'Adds up calls, errors, compute units and bytes of results by key, network, method and time. A running server stores what it counts each five seconds; 400 days are kept. Times are in UTC, and whole hours are counted.',
    'The key 000000000000 stands for all callers where no keys are needed, the method "other" for all that are not served.',
  ],
  flags: {
    by: textFlag('GROUPS', 'key, network, method, hour, day: any of them, separated by commas', {
      shownDefault: 'key,method',
    }),
    from: textFlag('TIME', 'first hour: a day such as 2026-11-22, or a time such as 2026-11-22T18:00Z', {
      shownDefault: 'a day before --to',
    }),
    to: textFlag('TIME', 'end of the time, as --from', { shownDefault: 'now' }),
    key: textFlag('ID', 'one key only'),
    network: textFlag('NAME', 'one network only'),
    method: textFlag('NAME', 'one method only'),
    json: switchFlag('print a JSON array instead of a table'),
    csv: switchFlag('print comma-separated values instead of a table'),
    ...common,
  },
  examples: [
    ['tidegate usage', 'each key and method, the last 24 hours'],
    ['tidegate usage --by day --key 3f9a1c0be27d --from 2026-11-01', 'one key, day by day'],
    ['tidegate usage --by key,day --from 2026-10-01 --to 2026-11-01 --csv', 'a month, for a bill'],
  ],
  run: async (flags, _words, io) =>
    (await import('./usage.js')).showUsage(resolveDataConfig(flags), flags, io),
})

const audit = defineCommand({
  name: 'audit',
  summary: 'show who changed keys, or check that this log is whole',
  description: [
    'Without "verify": the newest entries of the audit log, oldest first. There is one for each creation, change, rotation, revocation and taking over of an API key, for wrong tokens that the admin listener was sent, and for reloads of the configuration. Entries name keys by their ids, and settings without their values.',
    'With "verify": checks that no entry was changed, removed or moved, by the hash that each has of itself and all before it, and ends with status 1 where one was. Who can write the store could compute all hashes anew: keep the newest hash that this prints elsewhere, and give it the next time.',
  ],
  flags: {
    limit: integerFlag('N', 'entries at most', { min: 1, max: 1_000_000, shownDefault: '100' }),
    json: switchFlag('print a JSON array instead of a table'),
    hash: textFlag('HASH', 'with "verify": of an entry that must be there, once the newest'),
    ...common,
  },
  positionals: { placeholder: 'verify', summary: 'check the log instead of showing it', min: 0, max: 1 },
  examples: [
    ['tidegate audit --limit 20', 'the last twenty entries'],
    ['tidegate audit verify', 'check all of them'],
  ],
  run: async ({ limit = 100, json = false, hash, ...flags }, [word], io) => {
    const { listAudit, verifyAudit } = await import('./audit.js')
    if (word === undefined && hash === undefined) return listAudit(resolveDataConfig(flags), limit, json, io)
    if (word === 'verify') return verifyAudit(resolveDataConfig(flags), hash, io)
    throw new UsageError('write "tidegate audit", or "tidegate audit verify" with or without --hash')
  },
})

export const bookCommands: readonly Command[] = [usage, audit]
