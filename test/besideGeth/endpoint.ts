/** One of the two compared programs, as a client uses it. */

export interface Question {
  readonly method: string
  readonly params: readonly unknown[]
}

export interface Answer {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** A question, and both answers. */
export interface Exchange {
  readonly question: Question
  readonly geth: Answer
  readonly ours: Answer
}

export interface Endpoint {
  readonly url: string
  /** The answers to a batch, in the order of the questions. Rejects if the endpoint does not answer. */
  answers(questions: readonly Question[]): Promise<readonly Answer[]>
  /** The result of one call; rejects for an error. */
  result(method: string, params: readonly unknown[]): Promise<unknown>
}

/** The compared parts of an answer. */
function answerOf(answer: unknown): Answer {
  const { result, error } = answer as Answer
  return error === undefined ? { result } : { error }
}

/** `name` is for errors. */
export function endpointOf(name: string, url: string): Endpoint {
  const post = async (body: unknown): Promise<unknown> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    try {
      return JSON.parse(text)
    } catch {
      throw new Error(`${name} (${url}) answers ${response.status}: ${text.slice(0, 200)}`)
    }
  }
  return {
    url,
    async answers(questions) {
      const [question] = questions
      // A single question may have an answer that is too long for a batch.
      if (questions.length === 1) return [answerOf(await post({ jsonrpc: '2.0', id: 0, ...question }))]
      const batch = questions.map((question, id) => ({ jsonrpc: '2.0', id, ...question }))
      const answers = await post(batch)
      if (!Array.isArray(answers)) throw new Error(`${name} refuses a batch: ${JSON.stringify(answers)}`)
      const byId = new Map(answers.map((answer) => [answer.id, answerOf(answer)]))
      return questions.map((_, id) => byId.get(id) ?? { error: { code: 0, message: 'no answer' } })
    },
    async result(method, params) {
      const { result, error } = (await post({ jsonrpc: '2.0', id: 1, method, params })) as Answer
      if (error !== undefined) throw new Error(`${name} answers ${method} with ${error.message}`)
      return result
    },
  }
}
