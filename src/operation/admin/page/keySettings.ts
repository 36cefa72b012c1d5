/** The fields for the settings of a key. */
import type { Key } from '../shapes.js'
import { labelled, make } from './dom.js'

type Scope = keyof Key['scopes']
type Limit = keyof Key['limits']

const scopeFields: readonly (readonly [kind: Scope, label: string, hint: string])[] = [
  ['networks', 'Networks', 'names; empty: all'],
  ['methods', 'Methods', 'names, or eth_* for all that begin so; empty: all'],
  ['origins', 'Origins', 'of pages, as https://app.example.org; empty: all'],
  ['addresses', 'Addresses', 'IP addresses or blocks, as 10.0.0.0/8; empty: all'],
]

const limitGroups: readonly (readonly [
  legend: string,
  fields: readonly (readonly [limit: Limit, label: string])[],
])[] = [
  [
    'Calls',
    [
      ['requestsPerSecond', 'Calls a second'],
      ['requestsBurst', 'Calls at once'],
    ],
  ],
  [
    'Units',
    [
      ['unitsPerSecond', 'Units a second'],
      ['unitsBurst', 'Units at once'],
      ['unitsPerDay', 'Units a day'],
    ],
  ],
  [
    'Connections and work',
    [
      ['sockets', 'WebSockets'],
      ['subscriptions', 'Subscriptions'],
      ['weight', 'Weight in the pool'],
    ],
  ],
]

interface SettingsForm {
  readonly element: HTMLElement
  /** The values of all fields; the server checks them. */
  read(): object
}

/** Fields filled with a key's settings, or empty ones for a new key. */
export function settingsForm(key?: Key): SettingsForm {
  const name = make('input', { required: true, maxlength: 64, autocomplete: 'off', value: key?.name ?? '' })
  // The field has no time zone; its value is UTC.
  const expires = make('input', {
    type: 'datetime-local',
    step: 1,
    value: key?.expiresAt?.slice(0, 19) ?? '',
  })
  const scopes = scopeFields.map(([kind, label, hint]) => {
    const input = make('input', {
      autocomplete: 'off',
      spellcheck: 'false',
      value: key?.scopes[kind].join(', ') ?? '',
    })
    return { kind, input, field: labelled(label, input, hint) }
  })
  const limits = new Map<Limit, HTMLInputElement>()
  const limitField = ([limit, label]: readonly [Limit, string]) => {
    const value = key?.limits[limit] ?? undefined
    const input = make('input', { inputmode: 'numeric', pattern: '[0-9]*', autocomplete: 'off', value })
    limits.set(limit, input)
    return labelled(label, input)
  }
  const element = make(
    'div',
    {},
    make('div', { class: 'row' }, labelled('Name', name), labelled('Ends (UTC)', expires, 'empty: never')),
    group(
      'May be used for',
      scopes.map(({ field }) => field),
    ),
    make('p', { class: 'note' }, 'An empty limit is as the configuration says.'),
    ...limitGroups.map(([legend, fields]) => group(legend, fields.map(limitField))),
  )
  return {
    element,
    read: () => ({
      name: name.value,
      expiresAt: expires.value === '' ? null : new Date(`${expires.value}Z`).toISOString(),
      scopes: Object.fromEntries(
        scopes.map(({ kind, input }) => [kind, input.value.split(/[\s,]+/).filter((word) => word !== '')]),
      ),
      limits: Object.fromEntries(
        [...limits].map(([limit, { value }]) => [limit, value.trim() === '' ? null : Number(value)]),
      ),
    }),
  }
}

function group(legend: string, fields: readonly HTMLElement[]): HTMLElement {
  return make('fieldset', { class: 'row' }, make('legend', {}, legend), ...fields)
}

/** The settings of a key, in one line. */
export function describeKey({ scopes, limits, expiresAt, earlierSecretUntil }: Key): string {
  const ofScopes = scopeFields.flatMap(([kind, label]) =>
    scopes[kind].length === 0 ? [] : `${label.toLowerCase()}: ${scopes[kind].join(', ')}`,
  )
  const limitFields = limitGroups.flatMap(([, fields]) => fields)
  const ofLimits = limitFields.flatMap(([limit, label]) => {
    const value = limits[limit]
    return value === null ? [] : `${label.toLowerCase()}: ${value.toLocaleString('en')}`
  })
  const times = [
    expiresAt === null ? [] : `ends ${expiresAt.slice(0, 16)}Z`,
    earlierSecretUntil === null ? [] : `earlier secret until ${earlierSecretUntil.slice(0, 16)}Z`,
  ].flat()
  return [...ofScopes, ...ofLimits, ...times].join('; ') || 'everything, no limits of its own'
}
