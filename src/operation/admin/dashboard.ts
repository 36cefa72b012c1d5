/**
 * The files of the dashboard, a page for operators. `npm run build` makes them from `page/`, which runs in browsers.
 * They contain no secret, so they need no token. Their data comes from `/api`, which does.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { builtPath } from '../../primitives/packageRoot.js'

interface DashboardFile {
  readonly contentType: string
  readonly body: Buffer
}

/** Path → name of the file and its type. */
const fileNames = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/dashboard.js': ['dashboard.js', 'text/javascript; charset=utf-8'],
  '/dashboard.css': ['dashboard.css', 'text/css; charset=utf-8'],
  '/icon.svg': ['icon.svg', 'image/svg+xml'],
} as const

/**
 * Allows only the files above and requests to this listener. No text becomes a script, and no other page may frame this
 * one.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** Sent with each file. */
export const dashboardHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

export function readDashboard(): ReadonlyMap<string, DashboardFile> {
  const folder = builtPath('src/operation/admin/page')
  return new Map(
    Object.entries(fileNames).map(([path, [name, contentType]]) => [
      path,
      { contentType, body: readFileSync(join(folder, name)) },
    ]),
  )
}
