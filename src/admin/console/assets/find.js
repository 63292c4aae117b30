// @ts-check
// Progressive enhancement: searches in a dialog as one types, and goes to pages by keys.

const palette = /** @type {HTMLDialogElement} */ (document.getElementById('palette'))
const field = /** @type {HTMLInputElement} */ (palette.querySelector('input'))
const hits = /** @type {HTMLElement} */ (document.getElementById('palette-hits'))
const count = /** @type {HTMLElement} */ (palette.querySelector('[role=status]'))
const keys = /** @type {HTMLDialogElement} */ (document.getElementById('shortcuts'))
const singleKeys = /** @type {HTMLInputElement} */ (keys.querySelector('[type=checkbox]'))

/** Milliseconds without typing before the server is asked, and in which a letter follows “g”. */
const PAUSE_MS = 150
const SEQUENCE_MS = 1500

/** @type {XMLHttpRequest | undefined} */
let request
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer
/** When “g” was pressed. */
let begunAt = -SEQUENCE_MS

function openPalette() {
  if (!palette.open) palette.showModal()
  field.select()
  ask()
}

/** Asks for the hits, unless the tab is hidden: it asks when it is seen again. */
function ask() {
  if (document.hidden || !palette.open) return
  request?.abort()
  request = new XMLHttpRequest()
  request.open('GET', `/palette?${new URLSearchParams({ q: field.value })}`)
  // As in live.js, because this is not restricted by Trusted Types.
  request.responseType = 'document'
  const wanted = field.value
  request.onload = request.onerror = (event) => show(wanted, /** @type {XMLHttpRequest} */ (event.target).response)
  request.send()
}

/** @param {string} wanted @param {Document | null} page */
function show(wanted, page) {
  const found = page?.querySelector('[data-found]')
  // The session has ended, or the server does not answer: the page says so.
  if (!found) return location.assign(searchPage())
  hits.replaceChildren(document.adoptNode(found))
  hits.dataset.wanted = wanted
  for (const part of hits.querySelectorAll(':not(a, a *)'))
    part.setAttribute('role', part.matches('section') ? 'group' : 'none')
  for (const [n, link] of options().entries()) {
    link.setAttribute('role', 'option')
    Object.assign(link, { id: `hit-${n}`, tabIndex: -1 })
  }
  count.textContent = `Hits: ${options().length}`
  choose(0)
}

function options() {
  return [...hits.querySelectorAll('a')]
}

function searchPage() {
  return `/search?${new URLSearchParams({ q: field.value })}`
}

/** @param {number} n */
function choose(n) {
  const all = options()
  const chosen = all.at(n % all.length)
  for (const link of all) link.setAttribute('aria-selected', String(link === chosen))
  field.setAttribute('aria-activedescendant', chosen?.id ?? '')
  chosen?.scrollIntoView({ block: 'nearest' })
}

field.addEventListener('input', () => {
  clearTimeout(timer)
  timer = setTimeout(ask, PAUSE_MS)
})
document.addEventListener('visibilitychange', ask)

field.addEventListener('keydown', (event) => {
  const step = Number(event.key === 'ArrowDown') - Number(event.key === 'ArrowUp')
  if (event.isComposing || (!step && event.key !== 'Enter')) return
  event.preventDefault()
  const at = options().findIndex(({ ariaSelected }) => ariaSelected === 'true')
  if (step) choose(at + step)
  // What is shown may be the hits of an earlier text.
  else if (hits.dataset.wanted === field.value && at >= 0) options()[at]?.click()
  else location.assign(searchPage())
})
hits.addEventListener('click', ({ target }) => target instanceof Element && target.closest('a') && palette.close())

palette.querySelector('button')?.addEventListener('click', () => {
  palette.close()
  keys.showModal()
})
singleKeys.checked = localStorage.getItem('single-keys') !== 'off'
singleKeys.addEventListener('change', () => localStorage.setItem('single-keys', singleKeys.checked ? 'on' : 'off'))

document.addEventListener('keydown', (event) => {
  const { key, target, timeStamp } = event
  const isAfterG = timeStamp - begunAt < SEQUENCE_MS
  begunAt = -SEQUENCE_MS
  const isWithModifier = event.ctrlKey || event.metaKey
  const isTyping = target instanceof Element && target.closest('input, select, textarea, dialog')
  if (isWithModifier && key === 'k') openPalette()
  else if (isTyping || isWithModifier || event.altKey) return
  else if (key === 'Escape') return follow('[data-close]')
  else if (!singleKeys.checked) return
  else if (key === '/') openPalette()
  else if (key === '?') keys.showModal()
  else if (key === 'g') begunAt = timeStamp
  else if (isAfterG) follow(`[data-key="${CSS.escape(key)}"]`)
  else return
  event.preventDefault()
})

/** @param {string} selector */
function follow(selector) {
  const link = document.querySelector(selector)
  if (link instanceof HTMLElement && !document.querySelector(':popover-open')) link.click()
}
