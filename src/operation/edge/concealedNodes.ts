/** Nodes as callers learn of them: by number. Their names have hosts and ports, which the log and the admin API show. */
import type { UpstreamsState } from '../../sources/ingest/thread/messages.js'

/** A name that is a host; others, such as a replica's `feed`, say nothing of an address. */
const hostForm = /[.:]/

/** What is left of addresses in a sentence: of nodes that are not known yet. */
const addresses =
  /\b(?:https?|wss?|postgres(?:ql)?):\/\/[^\s,;)]+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\[[0-9a-f:]+\](?::\d+)?|\b[\w-]+(?:\.[\w-]+)+:\d+\b|(?<=\b(?:upstream|node) )[\w-]+(?:\.[\w-]+)+/gi

/** The name of the node of this index that callers are shown. */
export function concealedName(name: string, index: number): string {
  return hostForm.test(name) ? String(index + 1) : name
}

/** A sentence without the addresses of a network's nodes. */
export function concealed(text: string, upstreams: UpstreamsState | undefined): string {
  const names = [upstreams?.nodes ?? [], upstreams?.signed?.nodes ?? []].flatMap((nodes) =>
    nodes.map(({ name }, index) => [name, concealedName(name, index)] as const),
  )
  // The longest first: one may begin with another.
  const known = names.sort(([a], [b]) => b.length - a.length)
  return known
    .reduce((sentence, [name, shown]) => sentence.replaceAll(name, shown), text)
    .replace(addresses, '(address)')
}
