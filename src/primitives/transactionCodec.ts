/**
 * Converts fields of transactions between RLP, values and JSON. The table of types (`transactionTypes.ts`) has the form
 * of each field, and this file reads it. A direction is a {@link Conversion}, which owns its errors. Uses nothing of
 * Node.js, because clients use it too.
 */
import { type FieldForm, type LeafForm, listForms, type RecordForm } from './transactionTypes.js'

/** One direction; `name` is the name of the field, for errors. */
export interface Conversion<From, To> {
  leaf(value: From | undefined, form: LeafForm, name: string): To
  /** Items of a list. */
  items(list: From | undefined, name: string): readonly From[]
  /** Members of an object, in the order of `names`. */
  members(object: From, names: readonly string[], name: string): readonly (From | undefined)[]
  /** A list of converted items. */
  list(items: readonly To[]): To
  /** An object of converted members. */
  object(members: readonly To[], names: readonly string[]): To
}

/** Names of the members of each object in a list, made once: transactions have many. */
const memberNames: ReadonlyMap<RecordForm, readonly string[]> = new Map(
  Object.values(listForms).flatMap((each) =>
    typeof each === 'string' ? [] : [[each, Object.keys(each)] as const],
  ),
)

/** The field in the other form. Throws the errors of the conversion. */
export function convertField<From, To>(
  by: Conversion<From, To>,
  value: From | undefined,
  form: FieldForm,
  name: string,
): To {
  const each = (listForms as Readonly<Partial<Record<FieldForm, LeafForm | RecordForm>>>)[form]
  if (each === undefined) return by.leaf(value, form as LeafForm, name)
  const items = by.items(value, name)
  if (typeof each === 'string') return by.list(items.map((item) => by.leaf(item, each, name)))
  const names = memberNames.get(each) as readonly string[]
  return by.list(
    items.map((item) => {
      const members = by.members(item, names, name)
      const converted = names.map((member, at) =>
        convertField(by, members[at], each[member] as FieldForm, member),
      )
      return by.object(converted, names)
    }),
  )
}
