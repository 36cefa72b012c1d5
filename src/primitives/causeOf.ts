import { redactUrls } from './redactUrl.js'

/**
 * Why a network request failed, for the log and for callers: its code, or else its message. All errors of libraries
 * that got a URL must pass here, because some, such as `fetch`, repeat it with its password.
 */
export function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const { code, message } = Object(cause) as Partial<NodeJS.ErrnoException>
  return code ?? redactUrls(message ?? 'unknown error')
}
