/** nginx and HAProxy with the documented configuration, in front of servers of a test. */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { makeFolder, writeInto } from '../library/folder.js'
import { once, waitFor } from '../library/until.js'
import { get } from './httpClient.js'
import { freePort } from './ports.js'

export type Balancer = 'nginx' | 'haproxy'

/** Reason to skip tests with it; false if it is installed. */
export function withoutBalancer(name: Balancer): string | false {
  return spawnSync(name, ['-v']).error !== undefined && `there is no ${name}`
}

/** The balancer's code block in the documentation. */
function snippetOf(name: Balancer): string {
  const page = readFileSync(join(packageRoot(), 'docs/run.md'), 'utf8')
  const [, snippet] = new RegExp(`\`\`\`${name}\n([^]*?)\n\`\`\``).exec(page) ?? []
  if (snippet === undefined) throw new Error(`docs/run.md has no block of ${name}`)
  return snippet
}

/** The text around the snippet in a complete file, and the command that starts the program in the foreground. */
const surroundings: Readonly<
  Record<Balancer, (snippet: string, folder: string) => { readonly text: string; readonly words: string[] }>
> = {
  nginx: (snippet, folder) => ({
    text: `daemon off; pid ${folder}/pid; error_log ${folder}/error.log; worker_processes 1;
events { worker_connections 1024; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((each) => `${each}_temp_path ${folder}/${each};`).join('\n  ')}
  ${snippet}
}`,
    words: ['-p', folder, '-e', `${folder}/error.log`, '-c', `${folder}/config`],
  }),
  haproxy: (snippet, folder) => ({ text: snippet, words: ['-db', '-q', '-f', `${folder}/config`] }),
}

/**
 * Starts it with the documented snippet in front of servers at these ports of the loopback address; returns its URL.
 */
export async function startBalancer(t: Test, name: Balancer, ports: readonly number[]): Promise<string> {
  const folder = makeFolder(t)
  const port = await freePort()
  const [first = 0, second = 0] = ports
  const snippet = snippetOf(name)
    .replaceAll('10.0.0.1:8545', `127.0.0.1:${first}`)
    .replaceAll('10.0.0.2:8545', `127.0.0.1:${second}`)
    .replace(
      /(listen |bind \S*?:)\d+[^;\n]*/,
      (_, before) => `${before.replace(/bind \S*/, 'bind 127.0.0.1:')}${port}`,
    )
  const { text, words } = surroundings[name](snippet, folder)
  writeInto(folder, 'config', `${text}\n`)
  // The workers survive a parent that is killed, so SIGTERM ends it.
  const child = spawn(name, words, { stdio: ['ignore', 'ignore', 'inherit'] })
  t.teardown(async () => {
    child.kill('SIGTERM')
    if (child.exitCode === null) await once(child, 'exit')
  })
  const url = `http://127.0.0.1:${port}`
  await waitFor(name, async () => {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}:\n${text}`)
    return get(`${url}/health`).then(
      ({ status }) => status === 200,
      () => false,
    )
  })
  return url
}
