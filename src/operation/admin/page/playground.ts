/**
 * A method of a network, its parameters as a form or as JSON, and the answer; addresses of the
 * network.
 */
import type { Playground } from '../shapes.js'
import { json as shown } from './answer.js'
import { ask, callNetwork, whyRefused } from './api.js'
import { choice, copyButton, labelled, make, type View } from './dom.js'
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

export async function playground(): Promise<View> {
  const { networks, openRpc } = await ask<Playground>('api/playground')
  const view = new PlaygroundView(networks, (openRpc as { readonly methods: readonly Method[] }).methods)
  await view.showNetwork()
  return view
}

class PlaygroundView implements View {
  readonly element: HTMLElement
  readonly #networks: Playground['networks']
  readonly #methods: readonly Method[]
  readonly #network: HTMLSelectElement
  readonly #method = make('input', {
    list: 'methods',
    required: true,
    spellcheck: 'false',
    autocomplete: 'off',
  })
  readonly #names = make('datalist', { id: 'methods' })
  readonly #summary = make('p', { class: 'note' })
  readonly #problem = make('p', { role: 'alert', class: 'problem' })
  readonly #run = make('button', { type: 'submit' }, 'Run')
  readonly #answered = new Answered()
  readonly #curl = make('pre', { tabindex: 0, 'aria-label': 'The same with curl', class: 'curl' })
  readonly #addresses = make('div')
  readonly #params = new ParamsForm(() => this.#showCurl(), this.#problem)
  #facts: Facts | undefined
  #shownMethod: string | undefined

  constructor(networks: Playground['networks'], methods: readonly Method[]) {
    this.#networks = networks
    this.#methods = methods
    this.#network = choice(networks.map(({ name }) => name))
    this.#network.addEventListener('change', () => void this.showNetwork())
    // On each input: on `change`, the press of a button that ends the typing would move that button away.
    this.#method.addEventListener('input', () => {
      if (this.#currentMethod()?.name !== this.#shownMethod) this.#showMethod()
    })
    const choices = [labelled('Network', this.#network), labelled('Method', this.#method), this.#names]
    const fields = [...choices, this.#summary, ...this.#params.elements, this.#problem, this.#run]
    const form = make('form', { onsubmit: (event) => void this.#submit(event) }, ...fields)
    const title = make('h3', {}, 'The same with curl')
    const copy = copyButton('Copy the line', this.#curl)
    const right = make('div', {}, ...this.#answered.elements, title, this.#curl, copy)
    const connect = make('section', { class: 'card' }, make('h3', {}, 'Connect'), this.#addresses)
    this.element = make('div', { class: 'playground' }, form, right, connect)
  }

  close(): void {}

  async showNetwork(): Promise<void> {
    const chosen = this.#currentNetwork()
    this.#facts = undefined
    if (chosen !== undefined) {
      this.#addresses.replaceChildren(...snippets(chosen))
      const found = chosen.tag === 'rollup' ? undefined : await readFacts(chosen).catch(() => undefined)
      // Another network may have been chosen meanwhile.
      if (chosen !== this.#currentNetwork()) return
      this.#facts = found
    }
    const methods = this.#methodsHere()
    this.#names.replaceChildren(...methods.map(({ name }) => make('option', { value: name })))
    if (this.#currentMethod() === undefined) this.#method.value = firstMethod(methods)
    this.#showMethod()
  }

  #currentNetwork() {
    return this.#networks.find(({ name }) => name === this.#network.value)
  }

  /** Methods of the chosen network's kind, by their names there. */
  #methodsHere(): Method[] {
    const { tag, prefix } = this.#currentNetwork() ?? {}
    return this.#methods
      .filter(({ tags }) => tags.some(({ name }) => name === tag))
      .map((found) =>
        typeof prefix !== 'string' ? found : { ...found, name: found.name.replace(/^rollupx(?=_)/, prefix) },
      )
  }

  #currentMethod(): Method | undefined {
    return this.#methodsHere().find(({ name }) => name === this.#method.value.trim())
  }

  #showMethod(): void {
    const found = this.#currentMethod()
    this.#shownMethod = found?.name
    this.#summary.textContent = found?.summary ?? ''
    const example = found && this.#facts && exampleParams(found, this.#facts)
    this.#params.show(found?.params ?? [], example)
    this.#answered.clear(found === undefined || example ? '' : 'Run asks the network.')
    this.#showCurl()
    if (found !== undefined && example !== undefined) void this.#runCall()
  }

  #call() {
    return { method: this.#method.value.trim(), params: this.#params.read() }
  }

  #showCurl(): void {
    this.#problem.textContent = ''
    try {
      const request = JSON.stringify({ jsonrpc: '2.0', id: 1, ...this.#call() })
      this.#curl.textContent = curlLine(this.#currentNetwork()?.url ?? '', request)
    } catch (error) {
      this.#problem.textContent = (error as Error).message
    }
  }

  async #submit(event: Event): Promise<void> {
    event.preventDefault()
    this.#showCurl()
    if (this.#problem.textContent !== '') return
    await this.#runCall()
    this.#run.focus()
  }

  async #runCall(): Promise<void> {
    const asked = this.#method.value
    this.#run.disabled = true
    try {
      // Another method may have been chosen meanwhile.
      await this.#answered.ask(this.#network.value, this.#call(), () => asked === this.#method.value)
    } catch (error) {
      this.#answered.clear('')
      this.#problem.textContent = whyRefused(error)
    } finally {
      this.#run.disabled = false
    }
  }
}

/** The last answer, and its duration. */
class Answered {
  readonly #outcome = make('p', { role: 'status', class: 'outcome' })
  readonly #answer = make('pre', { tabindex: 0, 'aria-label': 'Answer', class: 'answer' })
  readonly elements = [this.#outcome, this.#answer]

  clear(outcome: string): void {
    this.#answer.replaceChildren()
    this.#outcome.textContent = outcome
  }

  /** Calls a network, and shows the answer if it is still wanted. Rejects if the call is refused. */
  async ask(
    network: string,
    call: { readonly method: string; readonly params: unknown },
    isWanted: () => boolean,
  ): Promise<void> {
    this.#outcome.textContent = 'Running …'
    const startedMs = performance.now()
    const { answer, seconds } = await callNetwork(network, call)
    if (!isWanted()) return
    const roundTrip = formatMs(performance.now() - startedMs)
    const times = `${formatMs(seconds * 1_000)} in the server, ${roundTrip} to here`
    this.#outcome.textContent = `${times}, ${formatBytes(answer.length)}`
    this.#answer.replaceChildren(...shown(answer))
  }
}

/** Parameters in fields, or as JSON; both show the same values. */
class ParamsForm {
  readonly elements: readonly HTMLElement[]
  readonly #fields = make('div', { class: 'fields' })
  readonly #json = make('textarea', { rows: 6, spellcheck: 'false' })
  readonly #jsonField = labelled('Parameters as JSON', this.#json)
  readonly #asJson = make('input', { type: 'checkbox' })
  readonly #problem: HTMLElement
  #inputs: readonly { param: Param; input: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement }[] = []

  /** `changed` is called at each input; `problem` shows the faults of the parameters. */
  constructor(changed: () => void, problem: HTMLElement) {
    this.#problem = problem
    const check = make('label', { class: 'check' }, this.#asJson, ' write the parameters as JSON')
    this.elements = [this.#fields, this.#jsonField, check]
    this.#jsonField.hidden = true
    this.#asJson.addEventListener('change', () => this.#switch())
    for (const element of [this.#fields, this.#json]) element.addEventListener('input', changed)
  }

  /** Shows parameters of a method, with arguments for the first ones; optional parameters come last. */
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
  if (isChoice(schema)) return choice(required ? choices : ['', ...choices], (value) => value)
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

/** Suggestions of a field that also accepts other values. */
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

/** Addresses of a network, and code for libraries, each to copy. */
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
