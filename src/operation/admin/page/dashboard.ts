/**
 * The dashboard of operators: the log-in, and the views, chosen by the part of the address after `#`. Runs in browsers,
 * bundled into one file by esbuild. All its data comes from the admin listener that served it.
 */

import { activity } from './activity.js'
import { Refusal, request, storedToken, storeToken, whyRefused } from './api.js'
import { cost } from './cost.js'
import { labelled, make, setText, type View } from './dom.js'
import { health, levelClasses, levelOf } from './health.js'
import { keys } from './keys.js'
import { LiveSource } from './live.js'
import { playground } from './playground.js'
import { traffic } from './traffic.js'

/**
 * Part of the address → name, the question that the view answers, and the function that makes it each time it is
 * chosen.
 */
const views: Readonly<
  Record<string, readonly [name: string, title: string, open: (live: LiveSource) => View | Promise<View>]>
> = {
  health: ['Health', 'Health', health],
  traffic: ['Traffic', 'Traffic', traffic],
  cost: ['Cost', 'Cost', cost],
  activity: ['Activity', 'Activity', activity],
  keys: ['Keys', 'Keys', keys],
  playground: ['Playground', 'Playground', playground],
}
const firstView = 'health'

function showLogIn(why?: string): void {
  document.body.replaceChildren(logInForm(showViews, why))
  document.querySelector('input')?.focus()
}

function showViews(): void {
  const content = make('main', { id: 'content', tabindex: -1 })
  const connection = make('span', { role: 'status', class: 'connection' })
  const links = Object.entries(views).map(([name, [title]]) => make('a', { href: `#${name}` }, title))
  const menu = make(
    'div',
    { id: 'menu' },
    make('nav', { 'aria-label': 'Views' }, ...links),
    make('button', { type: 'button', class: 'quiet', onclick: () => logOut() }, 'Log out'),
  )
  const opener = menuOpener(menu)
  let shown: View | undefined
  let asked: string | undefined

  const logOut = (why?: string) => {
    storeToken(undefined)
    removeEventListener('hashchange', showView)
    live.close()
    shown?.close()
    showLogIn(why)
  }
  const live = new LiveSource((why) => logOut(whyRefused(why)))
  live.listen(({ state, isOpen }) => {
    const level = state === undefined ? 'ok' : levelOf(state)
    setText(connection, isOpen ? `live${level === 'ok' ? '' : `, ${level}`}` : 'no connection')
    connection.className = `connection ${isOpen ? levelClasses[level] : 'bad'}`
  })

  const showView = async () => {
    const name = location.hash.slice(1) in views ? location.hash.slice(1) : firstView
    if (name === asked) return
    asked = name
    const [, title, open] = views[name] as (typeof views)[string]
    for (const link of links) {
      if (link.hash === `#${name}`) link.setAttribute('aria-current', 'page')
      else link.removeAttribute('aria-current')
    }
    shown?.close()
    shown = undefined
    try {
      const view = await open(live)
      // Another view may have been chosen meanwhile.
      if (name !== asked) return view.close()
      shown = view
      content.replaceChildren(make('h2', {}, title), view.element)
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) return logOut(whyRefused(error))
      // Choosing the view again then retries.
      asked = undefined
      content.replaceChildren(make('h2', {}, title), make('p', { class: 'problem' }, whyRefused(error)))
    }
  }

  document.body.replaceChildren(
    make(
      'a',
      { href: '#content', class: 'skip', onclick: (event) => skipTo(event, content) },
      'Skip to the content',
    ),
    make('header', {}, make('h1', {}, 'Tidegate'), menu, connection, opener),
    content,
  )
  addEventListener('hashchange', showView)
  void showView()
}

/** The button that opens the menu on narrow screens; a choice in the menu, or Escape, closes it. */
function menuOpener(menu: HTMLElement): HTMLElement {
  const button = make(
    'button',
    { type: 'button', class: 'quiet opener', 'aria-controls': menu.id, onclick: () => toggle() },
    'Menu',
  )
  const toggle = (isOpen = button.ariaExpanded !== 'true') => {
    button.ariaExpanded = String(isOpen)
    menu.classList.toggle('open', isOpen)
  }
  toggle(false)
  menu.addEventListener('click', () => toggle(false))
  menu.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape') return
    toggle(false)
    button.focus()
  })
  return button
}

/** The part of the address after `#` chooses the view, so this link must not change it. */
function skipTo(event: Event, content: HTMLElement): void {
  event.preventDefault()
  content.focus()
}

if (storedToken() === undefined) showLogIn()
else showViews()

/** The form for the token. `enter` is called once the listener has accepted a token; `why` is shown at first. */
function logInForm(enter: () => void, why = ''): HTMLElement {
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
