import { OperatorError } from '../../primitives/faults.js'
import { readPrivateFile } from '../access/privateFile.js'

/** A name of RFC 9110, section 5.1, and visible characters with spaces between. */
const linePattern = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)\s*$/

/**
 * The headers in a file, one `name: value` a line, names in lower case. Throws OperatorError, which repeats nothing of
 * the file, where others can read it or a line is no header.
 */
export function readHeadersFile(path: string): Record<string, string> {
  const text = readPrivateFile(path)?.toString('latin1')
  if (text === undefined) throw new OperatorError(`there is no file ${path}, which traces.headersFile names`)
  const headers: Record<string, string> = {}
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const [, name, value] = linePattern.exec(line) ?? []
    if (name === undefined || value === undefined) {
      throw new OperatorError(`${path}: line ${index + 1} is no header; write "name: value"`)
    }
    headers[name.toLowerCase()] = value
  }
  return headers
}
