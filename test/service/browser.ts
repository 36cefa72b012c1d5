/** A real Chromium, for tests of pages. */
import { existsSync } from 'node:fs'
import { type Browser, launch, type Page } from 'puppeteer-core'
import type { Test } from 'tap'
import { waitFor } from '../library/until.js'

const chromium = [process.env.CHROMIUM ?? '', '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (path) => path !== '' && existsSync(path),
)

/** Reason to skip tests that need a browser; false if there is one. */
export const withoutBrowser =
  chromium === undefined && 'there is no Chromium: install it, or name its path in CHROMIUM'

declare const clicked: unknown
/** In the page: whether the last click hit this element, or one inside it. */
const isClicked = (element: { contains(other: unknown): boolean }) => element.contains(clicked)

/** A browser that closes when the test ends. */
export async function openBrowser(t: Test): Promise<Browser> {
  const browser = await launch({
    executablePath: chromium as string,
    // Chromium's own sandbox refuses to run as root.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
    // Neither slow starts nor slow pages are faults; waits have their own limit.
    timeout: 0,
    protocolTimeout: 0,
  })
  t.teardown(() => browser.close())
  return browser
}

/** A page under test, operated as its users do. */
export class Visit {
  /** Console errors, including violations of the content security policy, exceptions, and failed requests. */
  readonly faults: string[] = []

  private constructor(readonly page: Page) {
    page.setDefaultTimeout(0)
    page.on('console', (message) => {
      if (['error', 'warn'].includes(message.type())) this.faults.push(message.text())
    })
    page.on('pageerror', (error) => this.faults.push(String(error)))
    page.on('requestfailed', (request) => {
      // The page itself aborts its event stream when the visitor leaves.
      if (request.failure()?.errorText !== 'net::ERR_ABORTED') this.faults.push(`${request.url()} failed`)
    })
  }

  /** Opens a page. It closes with the test `t`, or else with its browser: an open dashboard redraws all the time. */
  static async open(browser: Browser, url: string, t?: Test): Promise<Visit> {
    const context = await browser.createBrowserContext()
    t?.teardown(() => context.close())
    const visit = new Visit(await context.newPage())
    await visit.page.goto(url)
    return visit
  }

  /** All visible text. */
  async text(selector = 'body'): Promise<string> {
    const expression = `document.querySelector(${JSON.stringify(selector)})?.innerText ?? ''`
    return (await this.page.evaluate(expression)) as string
  }

  /** Waits until a text, or a match of a pattern, is visible; returns the whole text. */
  async see(what: string | RegExp, selector?: string): Promise<string> {
    const found = async () => {
      const text = await this.text(selector)
      return (typeof what === 'string' ? text.includes(what) : what.test(text)) && text
    }
    try {
      return await waitFor(`${what} on the page`, found, 50)
    } catch (error) {
      throw new Error(`${(error as Error).message}: ${await this.text()}`)
    }
  }

  /** The first element with this role and accessible name, once it exists. */
  #element(role: string, name: string) {
    return this.page.locator(`::-p-aria([name="${name}"][role="${role}"])`)
  }

  /** Clicks until the element is hit: new content may move it away from the pointer. */
  async click(role: string, name: string): Promise<void> {
    const note =
      "clicked = null; addEventListener('click', ({ target }) => { clicked = target }, { capture: true, once: true })"
    let isHit = false
    while (!isHit) {
      await this.page.evaluate(note)
      const element = await this.#element(role, name).waitHandle()
      // An element that was redrawn meanwhile is looked up again.
      const isThere = await element.click().then(
        () => true,
        () => false,
      )
      // A click that leaves the page was successful.
      isHit = isThere && (await element.evaluate(isClicked).catch(() => true))
    }
  }

  /** Replaces the content of a field. */
  async fill(role: string, name: string, text: string): Promise<void> {
    await this.#element(role, name).fill(text)
  }

  /** The role and name of the element that has the keyboard's focus. */
  async focused(): Promise<string> {
    const expression = `(() => {
      const element = document.activeElement
      const label = element.labels?.[0]?.textContent ?? element.ariaLabel ?? element.textContent
      return element.localName + ' ' + label.trim()
    })()`
    return (await this.page.evaluate(expression)) as string
  }

  /** Presses Tab until an element has the focus, such as `button Log in`. Fails if no Tab gets there. */
  async tabTo(element: string): Promise<void> {
    const passed: string[] = []
    for (let presses = 0; presses < 200; presses++) {
      await this.page.keyboard.press('Tab')
      const at = await this.focused()
      if (at === element) return
      passed.push(at)
    }
    throw new Error(`Tab does not reach ${element}, but ${[...new Set(passed)].join(', ')}`)
  }
}
