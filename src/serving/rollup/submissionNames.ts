/** Names of submissions and lanes, for maps. */
import type { Lane, SubmissionId } from '../../data/store/node/submissions.js'

export function idText({ hash, key, digest }: SubmissionId): string {
  return `${hash}/${key}/${digest}`
}

export function laneText({ key, sender }: Lane): string {
  return `${key}/${sender}`
}
