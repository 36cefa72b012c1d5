/** One wrong byte in the answer of a node. */
import type { Dice } from '../library/property.js'

/** Replaces one hex digit of one text in `value`. `where` names the place. */
export function tellOneLie(value: unknown, dice: Dice): { readonly lie: unknown; readonly where: string } {
  const texts: { readonly holder: Record<string, unknown>; readonly key: string }[] = []
  const root = { value: structuredClone(value) } as Record<string, unknown>
  const visit = (holder: Record<string, unknown>) => {
    for (const [key, each] of Object.entries(holder)) {
      if (typeof each === 'string' && each.length > 2) texts.push({ holder, key })
      else if (typeof each === 'object' && each !== null) visit(each as Record<string, unknown>)
    }
  }
  visit(root)
  const chosen = texts[dice.throw(texts.length)]
  if (chosen === undefined) return { lie: value, where: 'nothing to change' }
  const { holder, key } = chosen
  const text = holder[key] as string
  const at = 2 + dice.throw(text.length - 2)
  const digit = ((Number.parseInt(text[at] as string, 16) + 1 + dice.throw(15)) % 16).toString(16)
  holder[key] = text.slice(0, at) + digit + text.slice(at + 1)
  return { lie: root.value, where: `${key}, digit ${at} of ${text.length}` }
}

/** Removes, repeats or moves one element of one array in `value`. `where` names the place. */
export function misarrange(value: unknown, dice: Dice): { readonly lie: unknown; readonly where: string } {
  const lists: unknown[][] = []
  const root = structuredClone(value)
  const visit = (each: unknown) => {
    if (typeof each !== 'object' || each === null || each instanceof Uint8Array) return
    if (Array.isArray(each) && each.length > 0) lists.push(each)
    for (const below of Object.values(each)) visit(below)
  }
  visit(root)
  const list = lists[dice.throw(lists.length)]
  if (list === undefined) return { lie: value, where: 'nothing to change' }
  const at = dice.throw(list.length)
  const [element] = list.splice(at, 1)
  const kind = dice.throw(3)
  if (kind === 1) list.splice(at, 0, element, structuredClone(element))
  if (kind === 2) list.splice(dice.throw(list.length + 1), 0, element)
  return { lie: root, where: `${['without', 'twice', 'elsewhere'][kind]} element ${at} of ${list.length}` }
}
