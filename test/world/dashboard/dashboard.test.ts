/** The dashboard in a real browser, on a real server of the demo chain. */
import t from 'tap'
import { choose, load, logIn, type Served, serve } from '../../dashboard/servedDashboard.js'
import { waitFor } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { headBlock, hex, quantity } from '../../rpc/demoChain.js'
import { openBrowser, Visit, withoutBrowser } from '../../service/browser.js'
import { startService } from '../../service/service.js'

t.test('the dashboard in Chromium', { skip: withoutBrowser }, async (t) => {
  const served = await serve(t)
  const { url, token } = served
  const browser = await openBrowser(t)

  t.test('a wrong token is refused, the right one is kept for the tab alone', async (t) => {
    const visit = await Visit.open(browser, url, t)
    await visit.fill('textbox', 'Admin token', 'x'.repeat(64))
    await visit.click('button', 'Log in')
    await visit.see('This is not the admin token.')
    await logIn(visit, token)
    await visit.page.reload()
    await visit.see('Playground', 'nav')
    t.notOk((await visit.page.content()).includes(token))
    t.strictSame(await visit.page.cookies(), [])
    await visit.click('button', 'Log out')
    await visit.see('Admin token')
    await visit.page.reload()
    await visit.see('Admin token')
    t.strictSame(visit.faults, [
      'Failed to load resource: the server responded with a status of 401 (Unauthorized)',
    ])
  })

  t.test(
    'the playground runs a method, by form and by JSON, and shows its answer and a line of curl',
    async (t) => {
      const visit = await Visit.open(browser, url, t)
      await logIn(visit, token)
      await visit.click('link', 'Playground')
      await visit.fill('combobox', 'Network', 'demo')
      await visit.fill('combobox', 'Method', 'eth_getBlockByNumber')
      await visit.see('fullTransactions')
      await visit.fill('combobox', 'block', 'latest')
      await visit.fill('combobox', 'fullTransactions', 'false')
      await visit.click('button', 'Run')
      const number = `"number": "${quantity(headBlock.number)}"`
      await visit.see(new RegExp(`[\\d.]+ (?:µs|ms) in the server, [^]*${number}`))
      await visit.see(`"params":["latest",false]}'`, '.curl')
      await visit.see(`${served.service.origin}/v3/YOUR_API_KEY`, '.curl')
      await visit.click('button', 'Copy the line')
      await visit.see(/Copied|Selected: copy it/)
      await visit.click('checkbox', 'write the parameters as JSON')
      await visit.fill('textbox', 'Parameters as JSON', '["0x5", true]')
      await visit.click('button', 'Run')
      await visit.see('"number": "0x5"', '.answer')
      await visit.fill('textbox', 'Parameters as JSON', '["0x5", ')
      await visit.click('button', 'Run')
      await visit.see(/JSON/, '.problem')
      t.strictSame(visit.faults, [])
    },
  )

  t.test('methods of a rollup have its prefix', async (t) => {
    const visit = await Visit.open(browser, url, t)
    await logIn(visit, token)
    await visit.click('link', 'Playground')
    await visit.fill('combobox', 'Network', 'roll')
    await visit.fill('combobox', 'Method', 'starknet_chainId')
    await visit.click('button', 'Run')
    await visit.see('"result": "0x534e5f5345504f4c4941"', '.answer')
    t.strictSame(visit.faults, [])
  })

  t.test('the keyboard alone is enough to log in and to run a method', async (t) => {
    const visit = await Visit.open(browser, url, t)
    await visit.see('Admin token')
    t.equal(await visit.focused(), 'input Admin token')
    await visit.page.keyboard.type(token)
    await visit.page.keyboard.press('Enter')
    await visit.see('Playground', 'nav')
    await visit.tabTo('a Playground')
    await visit.page.keyboard.press('Enter')
    await visit.tabTo('input Method')
    await visit.page.keyboard.type('eth_chainId')
    await visit.page.keyboard.press('Enter')
    await visit.see('"result": "0x20f1"', '.answer')
    t.strictSame(visit.faults, [])
  })

  t.test('it says whether all is well, and where blocks come from', async (t) => {
    const visit = await Visit.open(browser, url, t)
    await logIn(visit, token)
    await visit.see(/Health\s+Everything works\.\s+.* of disk left · up for/)
    await visit.see(
      new RegExp(
        `demo \\(default\\)\\s+ok, for \\d+ s\\s+Head\\s+${headBlock.number}\\s+Age of the head\\s+\\d+ d\\s`,
      ),
    )
    await visit.see(/Source\s+no new blocks\s+Verification\s+executed\s+On disk\s+[\d.]+ .iB/)
    await visit.see(/roll\s+ok, for \d+ (?:s|min)\s+Source\s+submissions/)
    const lines = "[...document.querySelectorAll('.spark polyline')].map(({ points }) => points.length)"
    await waitFor('the line of ages', async () => ((await visit.page.evaluate(lines)) as number[])[0] === 2)
    await visit.page.click('summary')
    await visit.see(/proof\t0\t\d+\t\d/)
    t.strictSame(visit.faults, [])
  })

  t.test('figures move while calls come, of all methods, of one, and by code', async (t) => {
    const visit = await Visit.open(browser, url, t)
    await logIn(visit, token)
    const end = load(served)
    await visit.see(/[1-9][\d.]* calls a second/)
    await visit.see(/p50 [\d.]+ (?:µs|ms|s), p99 [\d.]+ (?:µs|ms|s) ·/)
    await visit.see('live', 'header')
    await visit.click('link', 'Traffic')
    await waitFor('all charts', async () => (await shownCharts(visit)) === 4)
    await visit.see(/eth_getProof\tdemo\t[\d,]+\t100 %\t0\t[\d.]+ (?:µs|ms|s)\t/)
    await visit.see(/eth_getBalance\tdemo\t[\d,]+\t[\d.]+ %\t(?!0\t)[\d,]+\t/)
    await visit.see(/-32602\teth_getBalance\tdemo\t[1-9]/, 'main')
    await visit.see(
      /eth_getBalance\tdemo\tlatest \(\d+\)\tdemo \([0-9a-f]{12}\)\t.+\t-32602: .+\t\[\]/,
      'main',
    )
    await visit.see(/demo \([0-9a-f]{12}\)\t[1-9][\d,]*\t[1-9]/, 'main')
    await visit.fill('combobox', 'Method', 'eth_getProof')
    await visit.see(/^(?![\s\S]*refused requests)[\s\S]*calls/, '.chart')
    await visit.fill('combobox', 'Time', 'day')
    // No call of this method failed, so a sentence replaces the chart.
    await waitFor('charts of a day', async () => (await shownCharts(visit)) === 3)
    await end()
    await visit.click('link', 'Health')
    await visit.see('0 calls a second')
    const later = await Visit.open(browser, url, t)
    await logIn(later, token)
    await later.click('link', 'Traffic')
    await waitFor('what was before', async () => (await shownCharts(later)) === 4)
    await later.click('link', 'Cost')
    await later.see(/[1-9][\d,]* units, [1-9][\d,]* calls, [1-9][\d,]* errors/)
    await later.see(new RegExp(`${new Date().toISOString().slice(0, 7)}-\\d\\d\tdemo\t[1-9]`))
    t.strictSame([...visit.faults, ...later.faults], [])
  })

  t.test('a block, its transactions and a slow call open', async (t) => {
    const visit = await Visit.open(browser, url, t)
    await logIn(visit, token)
    await visit.click('link', 'Activity')
    await visit.click('button', headBlock.number.toLocaleString('en'))
    await visit.see(`"number": "${quantity(headBlock.number)}"`, '.answer')
    const hash = headBlock.transactions[0]?.hash ?? ''
    await visit.see(`${hash} from 0x`, '.hashes')
    await visit.see(/"0x0{16}… 256 bytes|… 256 bytes/, '.answer')
    await visit.click('button', hash)
    await visit.see(`"transactionHash": "${hash}"`, '.answer')
    // The parameters are shown with the call.
    const looping = [{ data: '0x5b5f56', gas: '0x10000000' }, 'latest']
    for (let time = 0; time < 3; time++) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_call', params: looping })
      await served.service.post(`/v3/${served.key}`, body)
    }
    await visit.see(
      /eth_call\tdemo\tlatest \(\d+\)\tdemo \([0-9a-f]{12}\)\t[\d.]+ m?s\t-32000: .+\t\[\{"data":"0x5b5f56"/,
    )
    await visit.page.click('[aria-label="Slow calls"] button')
    await visit.see('"data": "0x5b5f56"', '.answer')
    t.strictSame(visit.faults, [])
  })

  for (const width of [1_280, 390]) {
    t.test(`at ${width} px: one key, what it called, and submissions that wait`, async (t) => {
      const visit = await Visit.open(browser, url, t)
      await visit.page.setViewport({ width, height: 740, isMobile: width < 600, hasTouch: width < 600 })
      await logIn(visit, token)
      const fits = async (what: string) => {
        t.equal(await visit.page.evaluate('document.documentElement.scrollWidth'), width, what)
        await waitFor(`${what} to fit`, async () => String(await visit.page.evaluate(misfits)) === '')
      }
      t.equal(await statusOf(served, served.key, 'eth_gasPrice'), 200)
      await choose(visit, 'Traffic')
      const top = '[aria-label="Keys that spent most in the last minute"]'
      const shown = await visit.see(/demo \([0-9a-f]{12}\)/, top)
      await visit.click('button', /demo \([0-9a-f]{12}\)/.exec(shown)?.[0] ?? '')
      await visit.see(/What this key called[\s\S]*eth_gasPrice\s+[1-9][\d,]*\s+[1-9]/, 'main')
      t.notMatch(await visit.text('main'), 'Calls a minute', 'what is not counted by key is not shown')
      await waitFor('its units', async () => (await shownCharts(visit)) === 1)
      await fits('a key')
      await visit.fill('combobox', 'Key', '')
      await visit.see('Calls a minute', 'main')

      const params = { invoke_transaction: makeTransaction(width, 0) }
      const body = { jsonrpc: '2.0', id: 1, method: 'starknet_addInvokeTransaction', params }
      const answer = await served.service.post(`/roll/v3/${served.key}`, JSON.stringify(body))
      const hash = JSON.parse(answer.text).result.transaction_hash
      await choose(visit, 'Activity')
      await visit.see(/roll\s+[1-9]/, '[aria-label="Submissions that wait for a sequencer"]')
      await visit.click('button', 'roll')
      await visit.see(new RegExp(`${hash}\\s+[-\\d: ]+\\s+RECEIVED\\s+0x${width.toString(16)}\\s+0\\s`))
      await fits('submissions')
      await visit.click('button', hash)
      await visit.see(`"transaction_hash": "${hash}"`, '.answer')
      await fits('a submission')
      t.strictSame(visit.faults, [])
    })
  }

  t.test('each example of the playground can be run on the demo chain', async (t) => {
    const visit = await Visit.open(browser, url, t)
    await logIn(visit, token)
    await visit.click('link', 'Playground')
    await visit.see('"result"', '.answer')
    const outcomes = (await visit.page.evaluate(runEach)) as readonly (readonly [
      name: string,
      said: string,
    ])[]
    const run = outcomes.filter(([, said]) => said !== '')
    for (const [name, said] of run) t.match(said, /^\{\s*"jsonrpc":\s*"2.0",\s*"id":\s*1,\s*"result":/, name)
    t.ok(run.length > outcomes.length * 0.8, `${run.length} of ${outcomes.length}`)
    t.strictSame(visit.faults, [])
  })

  t.test('the last blocks are listed, with their transactions, gas and age', async (t) => {
    const visit = await Visit.open(browser, url, t)
    await logIn(visit, token)
    await visit.click('link', 'Activity')
    const { number, header, transactions } = headBlock
    const [gasUsed, timestamp] = header.slice(10, 12).map((field) => Number(hex(field)))
    const time = new Date((timestamp ?? 0) * 1_000).toISOString().replace('T', ' ').slice(0, 19)
    const gas = gasUsed?.toLocaleString('en')
    const text = await visit.see(`${number}\t${time}\t`, '[aria-label="Last blocks"]')
    t.match(
      text,
      new RegExp(`^${number}\\t${time}\\t[\\d,]+ \\w+\\t${transactions.length}\\t${gas}\\t[\\d.]+ %$`, 'm'),
    )
    t.match(text, `\n${number - 9}\t`)
    t.notMatch(text, `\n${number - 10}\t`)
    t.strictSame(visit.faults, [])
  })

  t.test('a key is made, changed, rotated and revoked, each in force for callers', async (t) => {
    const visit = await Visit.open(browser, url, t)
    await logIn(visit, token)
    await visit.click('link', 'Keys')
    await visit.click('button', 'Make a key')
    await visit.fill('textbox', 'Name', 'shop')
    await visit.click('button', 'Make it')
    const first = await newSecret(visit)
    t.equal(await statusOf(served, first, 'eth_blockNumber'), 200)
    t.notOk((await visit.page.content()).includes(first), 'the text is gone once its reader has it')

    await visit.click('button', 'Change shop')
    await visit.fill('textbox', 'Methods', 'eth_chainId net_*')
    await visit.fill('textbox', 'Units a day', '5000')
    await visit.click('button', 'Save')
    await visit.see('methods: eth_chainId, net_*; units a day: 5,000')
    await waitFor('the focus to return', async () => (await visit.focused()) === 'button Change shop')
    t.equal(await statusOf(served, first, 'eth_chainId'), 200)
    await visit.click('button', 'Change shop')
    await visit.fill('DateTime', 'Ends (UTC)', '2020-01-01T00:00:00')
    await visit.click('button', 'Save')
    await visit.see(/shop\t[0-9a-f]{12}\texpired\t–\t[^\t]*ends 2020-01-01T00:00Z/)
    await waitFor('the key to end', async () => (await statusOf(served, first, 'eth_chainId')) === 401)
    await visit.click('button', 'Change shop')
    await visit.fill('DateTime', 'Ends (UTC)', '')
    await visit.click('button', 'Save')
    await visit.see(/shop\t[0-9a-f]{12}\tlive/)
    await waitFor('the key to live', async () => (await statusOf(served, first, 'eth_chainId')) === 200)

    await visit.click('button', 'Rotate shop')
    await visit.fill('textbox', 'Hours that the earlier secret stays valid', '0')
    await visit.click('button', 'Make a new secret')
    const second = await newSecret(visit)
    t.not(second, first)
    t.equal(await statusOf(served, second, 'eth_chainId'), 200)
    await waitFor(
      'the first secret to end',
      async () => (await statusOf(served, first, 'eth_chainId')) === 401,
    )

    await visit.click('button', 'Revoke shop')
    await visit.click('button', 'Revoke it')
    await visit.see(/shop\t[0-9a-f]{12}\trevoked/)
    await waitFor('the key to end', async () => (await statusOf(served, second, 'eth_chainId')) === 401)
    t.strictSame(visit.faults, [])
  })

  t.test('limits that the page sets hold for callers, and what they used is shown', async (t) => {
    const visit = await Visit.open(browser, url, t)
    await logIn(visit, token)
    await visit.click('link', 'Keys')
    await visit.click('button', 'Make a key')
    await visit.fill('textbox', 'Name', 'kiosk')
    await visit.fill('textbox', 'Methods', 'eth_chainId')
    await visit.click('button', 'Make it')
    const secret = await newSecret(visit)
    await visit.see(/kiosk\t[0-9a-f]{12}\tlive\t–\tmethods: eth_chainId\t0\t0\t0\t/)
    t.strictSame(await codesOf(served, secret, ['eth_chainId', 'eth_blockNumber']), [undefined, -32004])

    await visit.click('button', 'Change kiosk')
    await visit.fill('textbox', 'Calls a second', '1')
    await visit.fill('textbox', 'Calls at once', '10')
    await visit.click('button', 'Save')
    await visit.see('calls a second: 1; calls at once: 10')
    const many = Array.from({ length: 500 }, () => 'eth_chainId')
    const isLimited = async () => (await codesOf(served, secret, many)).includes(-32005)
    await waitFor('a call beyond the limit', isLimited)
    await waitFor('the status of a call beyond it', async () => {
      const status = await statusOf(served, secret, 'eth_chainId')
      t.ok(status === 200 || status === 429, String(status))
      return status === 429
    })

    await visit.see(/kiosk\t[0-9a-f]{12}\tlive\t–\t[^\t]*\t[1-9][\d,]*\t[1-9][\d,]*\t[1-9][\d,]*\t/)
    await visit.see(/kiosk \([0-9a-f]{12}\)\t[1-9][\d,]*\tlimit\tlimit exceeded: .+\t\d+ s/, 'main')
    await visit.see(/kiosk \([0-9a-f]{12}\)\t1\tmethod\t/, 'main')
    await visit.click('link', 'Cost')
    await visit.see(/\d\tkiosk\t[1-9][\d,]*\t[1-9]/, 'main')
    await visit.click('link', 'Traffic')
    await visit.see(/kiosk \([0-9a-f]{12}\)\t[1-9][\d,]*\t[1-9]/, 'main')
    t.strictSame(visit.faults, [])
  })

  t.test('a setting that is refused is explained; Escape closes a dialog', async (t) => {
    const visit = await Visit.open(browser, url, t)
    await logIn(visit, token)
    await visit.click('link', 'Keys')
    await visit.click('button', 'Make a key')
    await visit.fill('textbox', 'Name', 'bad')
    await visit.fill('textbox', 'Addresses', '10.0.0.0/99')
    await visit.click('button', 'Make it')
    await visit.see('expected an IP address or block')
    await visit.page.keyboard.press('Escape')
    await waitFor('the dialog to close', async () => (await visit.text('dialog')) === '')
    t.notMatch(await visit.text(), /bad\t/)
    t.strictSame(visit.faults, [
      'Failed to load resource: the server responded with a status of 400 (Bad Request)',
    ])
  })

  for (const width of [1_440, 1_024, 390]) {
    t.test(`at ${width} px each view fits, in light and dark`, async (t) => {
      const visit = await Visit.open(browser, url, t)
      const isMobile = width < 600
      await visit.page.setViewport({ width, height: 740, isMobile, hasTouch: isMobile })
      await logIn(visit, token)
      const wide = async () => visit.page.evaluate('document.documentElement.scrollWidth')
      for (const [name, said] of views) {
        await choose(visit, name)
        await visit.see(said, 'main')
        t.equal(await wide(), width, name)
        // Charts are drawn once their size is known.
        let found: unknown
        const fits = async () => {
          found = await visit.page.evaluate(misfits)
          return (found as readonly string[]).length === 0
        }
        await waitFor(`${name} to fit`, fits).catch(() => t.strictSame(found, [], name))
      }
      await choose(visit, 'Keys')
      await visit.click('button', 'Make a key')
      await visit.see('May be used for', 'dialog')
      t.equal(await wide(), width, 'a dialog')
      const lightness =
        'Math.max(...getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/g))'
      t.ok(Number(await visit.page.evaluate(lightness)) > 200, 'light')
      await visit.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }])
      t.ok(Number(await visit.page.evaluate(lightness)) < 60, 'dark')
      t.strictSame(visit.faults, [])
    })
  }

  t.test('no part of a key or of the token is on a page', async (t) => {
    const visit = await Visit.open(browser, url, t)
    await logIn(visit, token)
    t.equal(await statusOf(served, served.key, 'eth_chainId'), 200)
    const shown: string[] = []
    for (const [name, said] of views) {
      await visit.click('link', name)
      await visit.see(said, 'main')
      shown.push(await visit.page.content())
    }
    const secrets = [served.key.slice('tg_'.length), token]
    for (const secret of secrets) {
      t.ok(secret.length > 40)
      for (let at = 0; at + 8 <= secret.length; at++) {
        if (shown.join().includes(secret.slice(at, at + 8))) t.fail('eight characters are shown')
      }
    }
    t.strictSame(visit.faults, [])
  })
})

t.test('what keeps an operator out is said', { skip: withoutBrowser }, async (t) => {
  const { service, url, token } = await serve(t)
  const visit = await Visit.open(await openBrowser(t), url)
  await visit.fill('textbox', 'Admin token', 'wrong')
  await visit.click('button', 'Log in')
  await visit.see('This is not the admin token.')
  await visit.fill('textbox', 'Admin token', token)
  await service.stop()
  await visit.click('button', 'Log in')
  await visit.see('The server does not answer.')
  t.notOk((await visit.page.content()).includes(token))
})

t.test('a server that goes away is told, and found again', { skip: withoutBrowser }, async (t) => {
  const served = await serve(t)
  const visit = await Visit.open(await openBrowser(t), served.url)
  await logIn(visit, served.token)
  await visit.see('live', 'header')
  await served.service.stop()
  await visit.see('no connection', 'header')
  const port = new URL(served.url).port
  const again = await startService(['--config', served.config(Number(port))])
  t.teardown(() => again.stop())
  t.match(await visit.see('live', 'header'), 'Log out')
})

/** The link of each view, and a text that the view shows. */
const views = [
  ['Health', 'demo (default)'],
  ['Traffic', 'Refused requests by reason'],
  ['Cost', 'units'],
  ['Activity', 'Slow calls'],
  ['Keys', 'API keys'],
  ['Playground', 'The same with curl'],
] as const

async function statusOf({ service }: Served, key: string, method: string): Promise<number> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] })
  return (await service.post(`/v3/${key}`, body)).status
}

/** The error code of each call of a batch; undefined for a result. */
async function codesOf(
  { service }: Served,
  key: string,
  methods: readonly string[],
): Promise<(number | undefined)[]> {
  const calls = methods.map((method, id) => ({ jsonrpc: '2.0', id, method, params: [] }))
  const { text } = await service.post(`/v3/${key}`, JSON.stringify(calls))
  const answers = JSON.parse(text) as { id: number; error?: { code: number } }[]
  return answers.map(({ error }) => error?.code)
}

/** Charts that have lines and no sentence in their place. */
async function shownCharts(visit: Visit): Promise<unknown> {
  const charts = "[...document.querySelectorAll('.chart')]"
  return visit.page.evaluate(`${charts}.filter((chart) =>
    chart.querySelector('canvas')?.clientWidth > 0 && chart.querySelector('.note').hidden).length`)
}

/**
 * Finds faults of layout in the page: cut-off tables without a scrollbar and a shadow, cells that hide a part of their
 * text. Also finds charts with neither lines nor a sentence.
 */
const misfits = `(() => {
  const found = []
  for (const table of document.querySelectorAll('table')) {
    const region = table.parentElement
    const { overflowX, backgroundAttachment } = getComputedStyle(region)
    const scrolls = overflowX === 'auto' && backgroundAttachment.includes('local')
    if (region.scrollWidth > region.clientWidth && !scrolls) found.push(table.ariaLabel)
    if (table.getBoundingClientRect().width > region.scrollWidth + 1) found.push(table.ariaLabel + ' is clipped')
    for (const cell of table.querySelectorAll('th, td')) {
      if (cell.scrollWidth > cell.clientWidth + 1) found.push(table.ariaLabel + ': ' + cell.textContent)
    }
  }
  for (const chart of document.querySelectorAll('.chart')) {
    if (chart.closest('[hidden]')) continue
    const note = chart.querySelector('.note')
    const hasSentence = note.clientHeight > 0 && note.textContent !== ''
    const canvas = chart.querySelector('canvas')
    if (!hasSentence && !(canvas?.clientWidth > 0)) found.push(chart.textContent)
    // Lines and points have colours, axes and grid are grey.
    const isDrawn = () => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      for (let at = 0; at < data.length; at += 4) {
        const [red, green, blue, alpha] = data.subarray(at, at + 4)
        if (alpha > 100 && Math.max(red, green, blue) - Math.min(red, green, blue) > 60) return true
      }
      return false
    }
    if (!hasSentence && canvas?.width > 0 && !isDrawn()) found.push('nothing is drawn: ' + chart.textContent)
  }
  return found
})()`

/** In the page: chooses each method, and returns the text then shown; '' for a method without an example. */
const runEach = `(async () => {
  const input = document.querySelector('input[list=methods]')
  const outcome = document.querySelector('.outcome')
  const found = []
  for (const { value } of document.querySelectorAll('#methods option')) {
    input.value = value
    input.dispatchEvent(new Event('input'))
    while (outcome.textContent === 'Running …') await new Promise((resolve) => setTimeout(resolve, 5))
    found.push([value, document.querySelector('.answer').textContent.slice(0, 200)])
  }
  return found
})()`

/** The secret that the page shows; it is closed then. */
async function newSecret(visit: Visit): Promise<string> {
  await visit.see(/tg_\w{49}/, '.secret')
  const text = (await visit.text('.secret pre')).trim()
  await visit.click('button', 'I have it')
  await waitFor('the secret to go', async () => (await visit.text('.secret')) === '')
  return text
}
