/** How is it asked? Addresses of a network; a method of it, its parameters as a form or as JSON, and the answer. */
import type { Playground, RpcAnswer } from '../shapes.js'
import { json as shown } from './answer.js'
import { ask, whyRefused } from './api.js'
import { copyButton } from './copyButton.js'
import { labelled, make } from './dom.js'
import { exampleParams, type Facts, readFacts } from './examples.js'
import { formatBytes, formatMs } from './format.js'
import {
  choicesOf,
  describe,
  isChoice,
  isLong,
  type Method,
  type Param,
  readField,
  writeField,
} from './schemas.js'
import type { View } from './view.js'

export async function playground(): Promise<View> {
  const { networks, openRpc } = await ask<Playground>('api/playground')
  const { methods } = openRpc as { readonly methods: readonly Method[] }
  const network = select(networks.map(({ name }) => name))
  const method = make('input', { list: 'methods', required: true, spellcheck: 'false', autocomplete: 'off' })
  const names = make('datalist', { id: 'methods' })
  const summary = make('p', { class: 'note' })
  const problem = make('p', { role: 'alert', class: 'problem' })
  const run = make('button', { type: 'submit' }, 'Run')
  const outcome = make('p', { role: 'status', class: 'outcome' })
  const answer = make('pre', { tabindex: 0, 'aria-label': 'Answer', class: 'answer' })
  const curl = make('pre', { tabindex: 0, 'aria-label': 'The same with curl', class: 'curl' })
  const addresses = make('div')
  let facts: Facts | undefined
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

  const params = new ParamsForm(() => showCurl(), problem)
  const requestText = () =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: method.value.trim(), params: params.read() })

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
    summary.textContent = found?.summary ?? ''
    const example = found && facts && exampleParams(found, facts)
    params.show(found?.params ?? [], example)
    answer.replaceChildren()
    outcome.textContent = found === undefined || example ? '' : 'Run asks the network.'
    showCurl()
    if (found !== undefined && example !== undefined) void runCall()
  }
  const showNetwork = async () => {
    const chosen = currentNetwork()
    facts = undefined
    if (chosen !== undefined) {
      addresses.replaceChildren(...snippets(chosen))
      const found = chosen.tag === 'rollup' ? undefined : await readFacts(chosen).catch(() => undefined)
      // Meanwhile another network may have been chosen.
      if (chosen !== currentNetwork()) return
      facts = found
    }
    names.replaceChildren(...methodsHere().map(({ name }) => make('option', { value: name })))
    if (currentMethod() === undefined) method.value = firstMethod(methodsHere())
    showMethod()
  }
  const submit = async (event: Event) => {
    event.preventDefault()
    showCurl()
    if (problem.textContent !== '') return
    await runCall()
    run.focus()
  }
  const runCall = async () => {
    const asked = method.value
    run.disabled = true
    outcome.textContent = 'Running …'
    try {
      const startedMs = performance.now()
      const call = { method: method.value.trim(), params: params.read() }
      const { answer: text, seconds } = await ask<RpcAnswer>(
        `api/networks/${network.value}/call`,
        'POST',
        call,
      )
      // Meanwhile another method may have been chosen.
      if (asked !== method.value) return
      const roundTrip = formatMs(performance.now() - startedMs)
      outcome.textContent = `${formatMs(seconds * 1_000)} in the server, ${roundTrip} to here, ${formatBytes(text.length)}`
      answer.replaceChildren(...shown(text))
    } catch (error) {
      outcome.textContent = ''
      problem.textContent = whyRefused(error)
    } finally {
      run.disabled = false
    }
  }

  network.addEventListener('change', () => void showNetwork())
  // As it is typed: at a change, the press of a button that ends the typing would move that button away.
  method.addEventListener('input', () => {
    if (currentMethod()?.name !== shownMethod) showMethod()
  })
  await showNetwork()
  const element = make(
    'div',
    { class: 'playground' },
    make(
      'form',
      { onsubmit: (event) => void submit(event) },
      labelled('Network', network),
      labelled('Method', method),
      names,
      summary,
      ...params.elements,
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
    make('section', { class: 'card' }, make('h3', {}, 'Connect'), addresses),
  )
  return { element, close() {} }
}

/** Parameters in fields, or as JSON; both show the same. */
class ParamsForm {
  readonly elements: readonly HTMLElement[]
  readonly #fields = make('div', { class: 'fields' })
  readonly #json = make('textarea', { rows: 6, spellcheck: 'false' })
  readonly #jsonField = labelled('Parameters as JSON', this.#json)
  readonly #asJson = make('input', { type: 'checkbox' })
  readonly #problem: HTMLElement
  #inputs: readonly { param: Param; input: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement }[] = []

  /** `changed` is called as they are written; `problem` has what is wrong with them. */
  constructor(changed: () => void, problem: HTMLElement) {
    this.#problem = problem
    const check = make('label', { class: 'check' }, this.#asJson, ' write the parameters as JSON')
    this.elements = [this.#fields, this.#jsonField, check]
    this.#jsonField.hidden = true
    this.#asJson.addEventListener('change', () => this.#switch())
    for (const element of [this.#fields, this.#json]) element.addEventListener('input', changed)
  }

  /** Parameters of a method, with the first arguments; those that are not required come last. */
  show(params: readonly Param[], example: readonly unknown[] = []): void {
    this.#inputs = params.map((param) => ({ param, input: inputFor(param) }))
    this.#fields.replaceChildren(
      ...this.#inputs.flatMap(({ param, input }) => [
        labelled(`${param.name}${param.required ? '' : ' (optional)'}`, input, describe(param.schema)),
        offered(param),
      ]),
    )
    for (const [at, value] of example.entries()) {
      const field = this.#inputs[at]
      if (field !== undefined) field.input.value = writeField(value)
    }
    this.#json.value = JSON.stringify(example, undefined, 2)
  }

  /** Throws SyntaxError. */
  read(): unknown {
    if (this.#asJson.checked) return JSON.parse(this.#json.value.trim() === '' ? '[]' : this.#json.value)
    const written = this.#inputs.map(({ param, input }) => ({ param, text: input.value }))
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

  #switch(): void {
    const isJson = this.#asJson.checked
    try {
      this.#asJson.checked = !isJson
      const params = this.read()
      if (isJson) this.#json.value = JSON.stringify(params, undefined, 2)
      else {
        const names = this.#inputs.map(({ param }) => param.name)
        const values = paramValues(params, names)
        for (const [index, { input }] of this.#inputs.entries()) {
          const value = values[index]
          input.value = value === undefined || value === null ? '' : writeField(value)
        }
      }
      this.#problem.textContent = ''
    } catch (error) {
      this.#problem.textContent = (error as Error).message
    }
    this.#asJson.checked = isJson
    this.#jsonField.hidden = !isJson
    this.#fields.hidden = isJson
  }
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

/** Addresses of a network, and how libraries take them, each to copy. */
function snippets({ url, socketUrl, tag }: Playground['networks'][number]): HTMLElement[] {
  const ofChain: readonly (readonly [title: string, text: string])[] = [
    [
      'viem',
      `import { createPublicClient, http } from 'viem'\nconst client = createPublicClient({ transport: http('${url}') })\nconsole.log(await client.getBlockNumber())`,
    ],
    [
      'ethers',
      `import { JsonRpcProvider } from 'ethers'\nconst provider = new JsonRpcProvider('${url}')\nconsole.log(await provider.getBlockNumber())`,
    ],
    ['cast', `cast block-number --rpc-url ${url}`],
  ]
  const ofRollup: typeof ofChain = [
    [
      'starknet.js',
      `import { RpcProvider } from 'starknet'\nconst provider = new RpcProvider({ nodeUrl: '${url}' })\nconsole.log(await provider.getChainId())`,
    ],
  ]
  const all = [['HTTP', url], ['WebSocket', socketUrl], ...(tag === 'chain' ? ofChain : ofRollup)] as const
  return all.map(([title, text]) => {
    const shown = make('pre', { tabindex: 0, 'aria-label': title }, text)
    return make('div', {}, make('h4', {}, title), shown, copyButton(`Copy for ${title}`, shown))
  })
}

function curlLine(url: string, body: string): string {
  return `curl -s ${url} -H 'Content-Type: application/json' -d '${body.replaceAll("'", "'\\''")}'`
}
