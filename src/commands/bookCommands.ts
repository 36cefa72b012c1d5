/** The commands that show what the node store keeps of the past: what keys used. */
import { resolveDataConfig } from '../config/config.js'
import { type Command, defineCommand, switchFlag, textFlag } from './commandLine.js'
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

export const bookCommands: readonly Command[] = [usage]
