/**
 * Converts fields of transactions between RLP, values and JSON. The table of types (`transactionTypes.ts`) says the
 * form of each field, and this file walks it. A direction is a {@link Conversion}, which owns its errors. Uses nothing
 * of Node.js, because clients use it too.
 */
import { type FieldForm, isListForm, type LeafForm, listForms, type RecordForm } from './transactionTypes.js'

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

/** The field in the other form. Throws what the conversion throws. */
export function convertField<From, To>(
  by: Conversion<From, To>,
  value: From | undefined,
  form: FieldForm,
  name: string,
): To {
  if (!isListForm(form)) return by.leaf(value, form, name)
  const each = listForms[form]
  const items = by.items(value, name)
  if (typeof each === 'string') return by.list(items.map((item) => by.leaf(item, each, name)))
  return by.list(items.map((item) => convertObject(by, item, each, name)))
}

function convertObject<From, To>(by: Conversion<From, To>, object: From, form: RecordForm, name: string): To {
  const names = Object.keys(form)
  const members = by.members(object, names, name)
  return by.object(
    names.map((member, at) => convertField(by, members[at], form[member] as FieldForm, member)),
    names,
  )
}
