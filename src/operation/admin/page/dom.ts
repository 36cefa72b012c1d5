/** Makes elements of the page. Text is inserted as text, never as markup. */

/** The content below the header. */
export interface View {
  readonly element: HTMLElement
  /** Called when another view is shown. */
  close(): void
}

export type Child = Node | string | undefined | false

/** An attribute's text, `true` for one without a value, or a handler of an event (`onclick`). */
export type Attribute = string | number | boolean | undefined | ((event: Event) => void)

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, Attribute>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.replace(/^on/, ''), value)
    else if (value === true) element.setAttribute(name, '')
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value))
  }
  element.append(...children.filter((child) => child !== undefined && child !== false))
  return element
}

/** A button that looks like a link and acts on this page. */
export function opener(text: string, open: () => unknown): HTMLElement {
  return make('button', { type: 'button', class: 'link', onclick: () => void open() }, text)
}

/** A button that copies a text, and reports that. Browsers forbid copying without TLS; then it selects the text. */
export function copyButton(label: string, source: HTMLElement): HTMLElement {
  const outcome = make('span', { role: 'status' })
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(source.textContent ?? '')
      outcome.textContent = ' Copied'
    } catch {
      getSelection()?.selectAllChildren(source)
      outcome.textContent = ' Selected: copy it with the keyboard'
    }
  }
  return make('span', {}, make('button', { type: 'button', onclick: () => void copy() }, label), outcome)
}

/** Sets a text only if it differs, so that a reader's selection stays. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

/** Offers values by their names, and keeps the chosen one. */
export function offer(
  select: HTMLSelectElement,
  values: readonly string[],
  nameOf = (value: string) => value || 'all',
): void {
  const chosen = select.value
  const all = values.includes(chosen) || chosen === '' ? values : [...values, chosen]
  if ([...select.options].map(({ value }) => value).join() === all.join()) return
  select.replaceChildren(...all.map((value) => make('option', { value }, nameOf(value))))
  select.value = chosen || (all[0] ?? '')
}

/** A field that offers values by their names; the first is chosen. */
export function choice(values: readonly string[], nameOf?: (value: string) => string): HTMLSelectElement {
  const select = make('select')
  offer(select, values, nameOf)
  return select
}

let lastId = 0

export function labelled(label: string, input: HTMLElement, hint?: string): HTMLElement {
  input.id ||= `input-${++lastId}`
  const described = hint === undefined ? undefined : make('small', { id: `${input.id}-hint` }, hint)
  if (described !== undefined) input.setAttribute('aria-describedby', described.id)
  return make('div', { class: 'field' }, make('label', { for: input.id }, label), input, described)
}
