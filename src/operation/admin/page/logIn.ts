import { Refusal, request, storeToken, whyRefused } from './api.js'
import { labelled, make } from './dom.js'

/** The form that asks for the token. `enter` is called once the listener has accepted one; `why` is shown at first. */
export function logInForm(enter: () => void, why = ''): HTMLElement {
  const input = make('input', {
    type: 'password',
    required: true,
    autocomplete: 'off',
    spellcheck: 'false',
    autofocus: true,
  })
  const problem = make('p', { role: 'alert', class: 'problem' }, why)
  const submit = async (event: Event) => {
    event.preventDefault()
    storeToken(input.value.trim())
    try {
      await request('api/networks')
      enter()
    } catch (error) {
      storeToken(undefined)
      problem.textContent = problemText(error)
      input.select()
    }
  }
  return make(
    'main',
    { class: 'log-in' },
    make(
      'form',
      { onsubmit: (event) => void submit(event) },
      make('h1', {}, 'Tidegate'),
      labelled('Admin token', input, 'It is in the file node/admin-token of the data folder.'),
      problem,
      make('button', { type: 'submit' }, 'Log in'),
    ),
  )
}

function problemText(error: unknown): string {
  const isWrong = error instanceof Refusal && error.status === 401
  return isWrong ? 'This is not the admin token.' : whyRefused(error)
}
