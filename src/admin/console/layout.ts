import { hash } from 'node:crypto'
import { parse } from 'node:path'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type Operator, readableName } from '../../domain/operator.ts'
import { namesIn, programFile, readBytes, readText } from '../../program-files.ts'
import { address, type Html, html, type Part } from '../../web/html.ts'
import type { About } from '../context.ts'
import { ProblemError } from '../wire/problem.ts'
import { facts, links, note } from './components.ts'
import { doneMessage, hidden, select, textsIn } from './forms.ts'
import { icon } from './icons.ts'
import { RANGE_NAMES } from './range.ts'

// The frame of every page, and the files that it loads.

declare module 'fastify' {
  interface FastifyRequest {
    isDemo: boolean
    installation: About['installation']
    preferences: Preferences
  }
}

/** What an operator chose. Undefined: the theme of the system, the time zone of the browser. */
export interface Preferences {
  theme?: string | undefined
  zone?: string | undefined
  /** The name of the chosen zone. */
  timeZone?: string | undefined
  hidesSteps?: boolean
}

/** The entries of the navigation: path, label, and the key that opens it after “g”. */
export const SECTIONS = [
  ['/', 'Overview', 'o'],
  ['/applications', 'Applications', 'a'],
  ['/suites', 'Suites', 's'],
  ['/secrets', 'Secrets', 'k'],
  ['/refusals', 'Refusals', 'r'],
  ['/audit', 'Audit', 'u'],
  ['/operators', 'Operators', 'p'],
  ['/about', 'About', 'b'],
] as const

/** The pages that have a time range, which the links between them carry. */
const RANGED: readonly string[] = ['/', '/refusals', '/audit']

/** An entry of the navigation, by its path. */
export type Section = (typeof SECTIONS)[number][0]

export interface Page {
  /** The title of the window, and of the page unless there is a `heading`. */
  title: string
  heading?: Part
  section?: Section
  /** Breadcrumbs: the pages above this one. */
  trail?: readonly { href: string; label: Part }[]
  lead?: Part
  actions?: Part
  content: Part
  search?: string
  /** The names of modules in assets/ to load besides console.js. */
  scripts?: readonly string[]
}

/** What the frame depends on, apart from the page. */
interface Visit {
  operator: Pick<Operator, 'name' | 'role' | 'email'> | undefined
  /** The message about the form that led to this page. */
  done?: string | undefined
  isDemo?: boolean
  installation?: About['installation']
  preferences?: Preferences
  /** The address of the page, and the time range in it. */
  url?: string
  range?: Readonly<Record<string, string>>
}

export function showPage(reply: FastifyReply, page: Page, { status = 200 } = {}): FastifyReply {
  const { caller, isDemo, installation, preferences, url, query } = reply.request
  const [done, range] = [doneMessage(reply.request), textsIn(RANGE_NAMES, query)]
  const visit = { operator: caller?.operator, done, isDemo, installation, preferences, url, range }
  return (
    reply
      .code(status)
      // With `no-referrer`, browsers would send forms with `Origin: null`, which createOriginCheck refuses.
      .header('referrer-policy', 'same-origin')
      .type('text/html; charset=utf-8')
      .send(inZone(layout(page, visit), preferences.timeZone))
  )
}

const DEMO = html`<aside class="note demo" aria-label="About this demo"><p><strong>This is a demo</strong>, with made-up partners. Some have a problem at first: the <a href="/">overview</a> shows which. Everything is gone when it stops.</p></aside>`

const LIVE_ENDED = html`<div data-live-ended hidden>${note('warn', html`<p>Your session has ended, so these figures have stopped. <a href="/login">Sign in again</a></p>`)}</div>`

export function layout(
  { title, heading = title, section, ...page }: Page,
  { operator, done, isDemo, installation, preferences = {}, url = '/', range }: Visit,
): string {
  const { theme, timeZone } = preferences
  const { trail = [], lead, actions, content, search = '', scripts = [] } = page
  return html`<!doctype html>
<html lang="en"${timeZone && html` data-time-zone="${timeZone}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="${theme ?? 'light dark'}">
<title>${title} · ${installation && html`${installation.name} · `}token-server</title>
<link rel="icon" href="${asset('icon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${asset('console.css')}">
${['console.js', ...(operator ? ['find.js'] : []), ...scripts].map((name) => html`<script type="module" src="${asset(name)}"></script>\n`)}</head>
<body${!operator && html` class="outside"`}>
<a class="skip" href="#main">Skip to the content</a>
<header class="bar">
<a class="brand" href="/"><img src="${asset('icon.svg')}" alt="" width="24" height="24">token-server</a>
${installation && html`<p class="installation" data-color="${installation.color}"><bdi>${installation.name}</bdi></p>`}
${operator && tools(userMenu(operator, preferences, url), sections(section, range), search)}
</header>
<main id="main" tabindex="-1">
${operator && isDemo && DEMO}
${
  trail.length > 0 &&
  html`<nav class="trail" aria-label="Above this page"><ol>${trail.map(({ href, label }) => html`<li><a href="${href}">${label}</a></li>`)}</ol></nav>`
}
<div class="head"><h1>${heading}</h1>${actions && html`<div class="actions">${actions}</div>`}</div>
${lead && html`<p class="lead">${lead}</p>`}
${scripts.includes('live.js') && LIVE_ENDED}
${done !== undefined && html`<div class="note good" role="status"><p>${done}</p></div>`}
${content}
${operator && html`<p class="hint" data-zone>Times are in ${timeZone ?? 'UTC'}.</p>`}
</main>
${operator && dialogs(range)}
</body>
</html>
`.text
}

/** Shows the times of a page in a zone, those in `<time>`. Without a zone they stay in UTC, and console.js may convert them. */
function inZone(page: string, timeZone = 'UTC'): string {
  if (timeZone === 'UTC') return page
  return page.replace(
    /(<time [^>]*datetime="([^"]+)"[^>]*>)([^<]+)/g,
    (whole, tag: string, iso: string, text: string) => {
      const utc = iso.slice(0, 19).replace('T', ' ')
      const at = utc.indexOf(text.replace(' UTC', ''))
      // Sweden writes times as in ISO 8601.
      const local = new Date(iso).toLocaleString('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
      return at < 0 ? whole : tag + local.slice(at, at + text.replace(' UTC', '').length)
    },
  )
}

/** The search, and a menu, which is always open where there is room for it. */
function tools(user: Html, menu: Html, search: string): Html {
  return html`<form class="find" method="get" action="/search" role="search" aria-label="Search everything"><input type="search" name="q" value="${search}" aria-label="Search everything" aria-keyshortcuts="/ Control+K" placeholder="Name, request id" dir="auto" autocomplete="off" spellcheck="false"><kbd aria-hidden="true">/</kbd></form>
<button type="button" class="button menu-button" popovertarget="menu">Menu</button>
<div class="menu" id="menu" popover>${menu}
${user}</div>`
}

function sections(current: Section | undefined, range: Visit['range']): Html {
  const all = SECTIONS.map(([path, label]) => [hrefOf(path, range), html`${icon(label)}${label}`] as const)
  return links('sections', 'Console', all, current && hrefOf(current, range))
}

const hrefOf = (path: string, range: Visit['range'] = {}) => (RANGED.includes(path) ? address(path, range) : path)

const keysOf = (range: Visit['range']) =>
  [
    ['Ctrl K, ⌘ K, /', 'Search everything'],
    ...SECTIONS.map(
      ([path, label, key]) =>
        [`g ${key}`, html`<a href="${hrefOf(path, range)}" data-key="${key}">${label}</a>`] as const,
    ),
    ['Esc', 'Close what is open'],
    ['?', 'Show these keys'],
  ] as const

/** What find.js opens: the search in a dialog, and the keys. */
const dialogs = (
  range: Visit['range'],
) => html`<dialog class="ask palette" id="palette" aria-label="Search everything"><input role="combobox" aria-label="Search everything" aria-controls="palette-hits" aria-expanded="true" aria-autocomplete="list" placeholder="Name, request id, page or “rotate secret of …”" dir="auto" autocomplete="off" spellcheck="false"><p class="unseen" role="status"></p><div id="palette-hits" role="listbox" aria-label="Hits"></div><div class="buttons"><button type="button" class="button">Keys</button></div></dialog>
<dialog class="ask" id="shortcuts" aria-labelledby="shortcuts-title"><form method="dialog"><h2 id="shortcuts-title">Keys</h2>${facts(keysOf(range))}<label class="choice"><input type="checkbox" checked><span>Keys without Ctrl or ⌘</span></label><div class="buttons"><button class="button">Close</button></div></form></dialog>`

const THEMES = [
  { value: '', label: 'As the system' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
]

const ZONES = [
  { value: '', label: 'The browser’s' },
  { value: 'server', label: 'The server’s' },
  { value: 'utc', label: 'UTC' },
]

/** Who is signed in, and what is theirs. `url` is the page to come back to. */
function userMenu(operator: NonNullable<Visit['operator']>, { theme, zone }: Preferences, url: string): Html {
  return html`<details class="account"><summary>Signed in as <bdi>${readableName(operator)}</bdi>, ${operator.role}</summary>
<div class="form"><p><a href="/operators#sessions">My sessions and keys</a><br><a href="/docs">Documents</a></p>
<form class="form" method="post" action="/preferences">${hidden({ back: url })}
${select({ label: 'Theme', name: 'theme', value: theme }, THEMES)}
${select({ label: 'Time zone', name: 'zone', value: zone }, ZONES)}
<div class="buttons"><button class="button">Apply</button></div></form>
<form method="post" action="/logout"><button class="button">Sign out</button></form></div></details>`
}

/** The files of the font, with the characters that each has. Browsers load those that a page needs. */
const FONTS: Readonly<Record<string, string>> = {
  'inter-latin-wght-normal.woff2':
    'U+0000-00FF, U+0131, U+0152-0153, U+02BB-02BC, U+02C6, U+02DA, U+02DC, U+0304, U+0308, U+0329, U+2000-206F, U+20AC, U+2122, U+2191, U+2193, U+2212, U+2215, U+FEFF, U+FFFD',
  'inter-latin-ext-wght-normal.woff2':
    'U+0100-02BA, U+02BD-02C5, U+02C7-02CC, U+02CE-02D7, U+02DD-02FF, U+0304, U+0308, U+0329, U+1D00-1DBF, U+1E00-1E9F, U+1EF2-1EFF, U+2020, U+20A0-20AB, U+20AD-20C0, U+2113, U+2C60-2C7F, U+A720-A7FF',
  'inter-cyrillic-wght-normal.woff2': 'U+0301, U+0400-045F, U+0490-0491, U+04B0-04B1, U+2116',
  'inter-greek-wght-normal.woff2': 'U+0370-0377, U+037A-037F, U+0384-038A, U+038C, U+038E-03A1, U+03A3-03FF',
}

const FOLDER = programFile('admin/console/assets/')
/** In a clone. A release has the fonts in FOLDER. */
const FONT_FOLDER = programFile('../node_modules/@fontsource-variable/inter/files/')

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.woff2': 'font/woff2',
}

/** The files that pages load, by name. Fonts come first, because the stylesheet has their addresses. */
const FILES = new Map([
  ...Object.keys(FONTS).map((font) => [font, new URL(font, FONT_FOLDER)] as const),
  ...namesIn(FOLDER).map((file) => [file, new URL(file, FOLDER)] as const),
])

/** Read once. The URL contains a hash of the content, so browsers may cache it forever. */
const ASSETS = new Map<string, ReturnType<typeof assetOf>>()
for (const [file, url] of FILES) ASSETS.set(file, assetOf(file, file in FONTS ? readBytes(url) : textOf(url)))

function textOf(file: URL): Buffer {
  return Buffer.from(readText(file).replace('/* @font-face */', fontFaces))
}

function fontFaces(): string {
  const faces = Object.entries(FONTS).map(
    ([file, characters]) =>
      `@font-face { font-family: Inter; font-weight: 100 900; font-display: swap; src: url(${asset(file)}); unicode-range: ${characters} }`,
  )
  return faces.join('\n')
}

function assetOf(file: string, body: Buffer) {
  const { name, ext } = parse(file)
  return { url: `/assets/${name}-${hash('sha256', body).slice(0, 16)}${ext}`, type: TYPES[ext] as string, body }
}

export function asset(name: string): string {
  return (ASSETS.get(name) as { url: string }).url
}

/** Serves the files in assets/ from memory. They are public: no session is needed. */
export function serveAssets(app: FastifyInstance): void {
  const byUrl = new Map([...ASSETS.values()].map((asset) => [asset.url, asset]))
  app.get('/assets/*', { config: { findsSession: false } }, ({ url }, reply) => {
    const found = byUrl.get(url)
    if (!found) throw new ProblemError('no_such_path', 'There is no such file.')
    return reply.header('cache-control', 'public, max-age=31536000, immutable').type(found.type).send(found.body)
  })
}
