/**
 * Updates the output of commands in the pages: below each line `$ tidegate …` of a block, the output of that command
 * line. Run as a program (`npm run docs`) it rewrites the pages.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { runCommandLine } from '../src/operation/commands/runCommandLine.js'
import { packageRoot } from '../src/primitives/packageRoot.js'

export const commandsPagePaths = ['commands', 'key-commands', 'developer-chain'].map((name) =>
  join(packageRoot(), `docs/${name}.md`),
)

const block = /^```console\n\$ tidegate (.*)\n([\s\S]*?)^```$/gm

/** The command lines of a page's blocks. */
export function commandLinesOf(page: string): string[] {
  return [...page.matchAll(block)].map(([, words = '']) => words)
}

/** The page with the current output of its command lines. Throws Error if one is refused. */
export async function renderCommandsPage(page: string): Promise<string> {
  const printed = new Map<string, string>()
  for (const line of commandLinesOf(page)) {
    const said: string[] = []
    const io = { out: (text: string) => said.push(text), err: (text: string) => said.push(text) }
    const status = await runCommandLine(line.split(' '), io)
    if (status !== 0) throw new Error(`tidegate ${line}: ${said.join('\n')}`)
    printed.set(line, said.join('\n'))
  }
  return page.replace(
    block,
    (_, line: string) => `\`\`\`console\n$ tidegate ${line}\n${printed.get(line)}\n\`\`\``,
  )
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const path of commandsPagePaths)
    writeFileSync(path, await renderCommandsPage(readFileSync(path, 'utf8')))
}
