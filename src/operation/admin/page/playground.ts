/** The playground: a method of a network, its parameters as a form or as JSON, and the answer. */
import type { Playground, RpcAnswer } from '../shapes.js'
import { ask, whyRefused } from './api.js'
import { copyButton } from './copyButton.js'
import { labelled, make } from './dom.js'
import { formatBytes, formatMs } from './format.js'
import {
  choicesOf,
  describe,
  exampleOf,
  isChoice,
  isLong,
  type Method,
  type Param,
  readField,
  writeField,
} from './schemas.js'
import type { View } from './view.js'

/** Characters of an answer that are shown; a browser takes seconds to lay out megabytes. */
const shownMax = 200_000

export async function playground(): Promise<View> {
  const { networks, openRpc } = await ask<Playground>('api/playground')
  const { methods } = openRpc as { readonly methods: readonly Method[] }
  const network = select(networks.map(({ name }) => name))
  const method = make('input', { list: 'methods', required: true, spellcheck: 'false', autocomplete: 'off' })
  const names = make('datalist', { id: 'methods' })
  const summary = make('p', { class: 'note' })
  const fields = make('div', { class: 'fields' })
  const json = make('textarea', { rows: 6, spellcheck: 'false' })
  const jsonField = labelled('Parameters as JSON', json)
  const asJson = make('input', { type: 'checkbox' })
  const problem = make('p', { role: 'alert', class: 'problem' })
  const run = make('button', { type: 'submit' }, 'Run')
  const outcome = make('p', { role: 'status', class: 'outcome' })
  const answer = make('pre', { tabindex: 0, 'aria-label': 'Answer', class: 'answer' })
  const curl = make('pre', { tabindex: 0, 'aria-label': 'The same with curl', class: 'curl' })
  let inputs: { param: Param; input: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement }[] = []

  let shownMethod: string | undefined

  const currentNetwork = () => networks.find(({ name }) => name === network.value)
  const methodsHere = (): Method[] => {
    const { tag, prefix } = currentNetwork() ?? {}
    return methods
      .filter(({ tags }) => tags.some(({ name }) => name === tag))
      .map((found) =>
        typeof prefix !== 'string' ? found : { ...found, name: found.name.replace(/^rollupx(?=_)/, prefix) },
      )
  }
  const currentMethod = () => methodsHere().find(({ name }) => name === method.value.trim())

  /** The parameters as they are written. Throws SyntaxError. */
  const readParams = (): unknown => {
    if (asJson.checked) return JSON.parse(json.value.trim() === '' ? '[]' : json.value)
    const written = inputs.map(({ param, input }) => ({ param, text: input.value }))
    const last = written.findLastIndex(({ text }) => text.trim() !== '')
    return written.slice(0, last + 1).map(({ param, text }) => {
      if (text.trim() === '') return null
      try {
        return readField(param.schema, text)
      } catch {
        throw new SyntaxError(`${param.name} is not valid JSON`)
      }
    })
  }
  const requestText = () =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: method.value.trim(), params: readParams() })

  const showCurl = () => {
    problem.textContent = ''
    try {
      curl.textContent = curlLine(currentNetwork()?.url ?? '', requestText())
    } catch (error) {
      problem.textContent = (error as Error).message
    }
  }
  const showMethod = () => {
    const found = currentMethod()
    shownMethod = found?.name
    outcome.textContent = found === undefined ? '' : 'An example of the answer. Run asks the network.'
    const example = found && { jsonrpc: '2.0', id: 1, result: exampleOf(found.result.schema) }
    answer.textContent = example === undefined ? '' : JSON.stringify(example, undefined, 2)
    summary.textContent = found?.summary ?? ''
    inputs = (found?.params ?? []).map((param) => ({ param, input: inputFor(param) }))
    fields.replaceChildren(
      ...inputs.flatMap(({ param, input }) => [
        labelled(`${param.name}${param.required ? '' : ' (optional)'}`, input, describe(param.schema)),
        offered(param),
      ]),
    )
    json.value = '[]'
    showCurl()
  }
  const showNetwork = () => {
    names.replaceChildren(...methodsHere().map(({ name }) => make('option', { value: name })))
    if (currentMethod() === undefined) method.value = firstMethod(methodsHere())
    showMethod()
  }
  /** Both ways to write parameters show the same. */
  const switchForm = () => {
    try {
      asJson.checked = !asJson.checked
      const params = readParams()
      asJson.checked = !asJson.checked
      if (asJson.checked) json.value = JSON.stringify(params, undefined, 2)
      else {
        const values = paramValues(
          params,
          inputs.map(({ param }) => param.name),
        )
        for (const [index, { input }] of inputs.entries()) {
          const value = values[index]
          input.value = value === undefined || value === null ? '' : writeField(value)
        }
      }
      problem.textContent = ''
    } catch (error) {
      problem.textContent = (error as Error).message
    }
    jsonField.hidden = !asJson.checked
    fields.hidden = asJson.checked
  }
  const submit = async (event: Event) => {
    event.preventDefault()
    showCurl()
    if (problem.textContent !== '') return
    run.disabled = true
    outcome.textContent = 'Running …'
    try {
      const startedMs = performance.now()
      const call = { method: method.value.trim(), params: readParams() }
      const { answer: text, seconds } = await ask<RpcAnswer>(
        `api/networks/${network.value}/call`,
        'POST',
        call,
      )
      const roundTrip = formatMs(performance.now() - startedMs)
      outcome.textContent = `${formatMs(seconds * 1_000)} in the server, ${roundTrip} to here, ${formatBytes(text.length)}`
      answer.textContent = shown(text)
    } catch (error) {
      outcome.textContent = ''
      problem.textContent = whyRefused(error)
    }
    run.disabled = false
    run.focus()
  }

  network.addEventListener('change', showNetwork)
  // As it is typed: at a change, the press of a button that ends the typing would move that button away.
  method.addEventListener('input', () => {
    if (currentMethod()?.name !== shownMethod) showMethod()
  })
  asJson.addEventListener('change', switchForm)
  for (const element of [fields, json]) element.addEventListener('input', showCurl)
  jsonField.hidden = true
  showNetwork()
  const element = make(
    'div',
    { class: 'playground' },
    make(
      'form',
      { onsubmit: (event) => void submit(event) },
      make('div', { class: 'row' }, labelled('Network', network), labelled('Method', method), names),
      summary,
      fields,
      jsonField,
      make('label', { class: 'check' }, asJson, ' write the parameters as JSON'),
      problem,
      run,
    ),
    make(
      'div',
      {},
      outcome,
      answer,
      make('h3', {}, 'The same with curl'),
      curl,
      copyButton('Copy the line', curl),
    ),
  )
  return { element, close() {} }
}

function select(values: readonly string[]): HTMLSelectElement {
  return make('select', {}, ...values.map((value) => make('option', { value }, value)))
}

function firstMethod(methods: readonly Method[]): string {
  const names = methods.map(({ name }) => name)
  return names.find((name) => name === 'eth_getBlockByNumber') ?? names[0] ?? ''
}

function inputFor({
  name,
  schema,
  required,
}: Param): HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement {
  const choices = choicesOf(schema)
  if (isChoice(schema)) return select(required ? choices : ['', ...choices])
  if (isLong(schema) && choices.length === 0) return make('textarea', { rows: 4, spellcheck: 'false' })
  const input = make('input', {
    spellcheck: 'false',
    autocomplete: 'off',
    list: choices.length > 0 && listId(name),
  })
  if (choices.includes('latest')) input.value = 'latest'
  return input
}

function listId(name: string): string {
  return `choices-${name}`
}

/** What a field offers to those who may also write something else. */
function offered({ name, schema }: Param): HTMLElement {
  return make(
    'datalist',
    { id: listId(name) },
    ...choicesOf(schema).map((value) => make('option', { value })),
  )
}

/** Parameters in order, whether they were given by position or by name. */
function paramValues(params: unknown, names: readonly string[]): readonly unknown[] {
  if (Array.isArray(params)) return params
  return names.map((name) => (params as Record<string, unknown> | null)?.[name])
}

/** The answer's JSON with a line a member, where it is not too long. */
function shown(text: string): string {
  if (text.length > shownMax)
    return `${text.slice(0, shownMax)}…\n(${text.length - shownMax} more characters)`
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}

function curlLine(url: string, body: string): string {
  return `curl -s ${url} -H 'Content-Type: application/json' -d '${body.replaceAll("'", "'\\''")}'`
}
