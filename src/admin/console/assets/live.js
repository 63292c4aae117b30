// @ts-check
// Keeps the overview, the refusals and the pages of applications and suites up to date: requests the elements with `data-live` every second, and changes what is different.

const INTERVAL_MS = 1000

/** Milliseconds between updates of the page if the reader prefers reduced motion. */
const CALM_MS = 10_000

/** After this many milliseconds without new figures, the page says that they are old. */
const STALE_MS = 5000

/** Milliseconds until the next try: after a failure, and if too many pages are open or the store is unavailable. */
const RETRY_MS = 2000
const UNAVAILABLE_MS = 30_000

const state = /** @type {HTMLElement} */ (document.querySelector('[data-live-state]'))
const pause = /** @type {HTMLButtonElement} */ (document.querySelector('[data-live-pause]'))
const reload = /** @type {HTMLElement} */ (document.querySelector('[data-live-reload]'))
const ended = /** @type {HTMLElement} */ (document.querySelector('[data-live-ended]'))
const motion = matchMedia('(prefers-reduced-motion: reduce)')

/** @type {XMLHttpRequest | undefined} */
let request
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer
let isRunning = false
let isPaused = false
let hasEnded = false
/** The query that identifies this window. It contains `new` until the first answer. */
let query = ''
let waitingSince = 0
let answeredAt = Date.now()
let shownAt = 0

function start() {
  if (isRunning || isPaused || hasEnded || document.hidden) return
  isRunning = true
  query = `window=${crypto.randomUUID()}&new=yes&${state.dataset.of}`
  waitingSince = Date.now()
  say('Connecting', 'warn')
  ask()
}

function ask() {
  request = new XMLHttpRequest()
  request.open('GET', `/live?${query}`)
  // Unlike DOMParser this is not restricted by Trusted Types, because it never runs scripts.
  request.responseType = 'document'
  request.timeout = STALE_MS
  request.addEventListener('load', receive)
  request.addEventListener('error', () => fail('Not connected'))
  request.addEventListener('timeout', () => fail('No new figures'))
  request.send()
}

/** @this {XMLHttpRequest} */
function receive() {
  if (this.status === 401) {
    hasEnded = true
    ended.hidden = false
    return stop('Ended')
  }
  // The application or the suite was removed.
  if (this.status === 404) return stop('Ended')
  // The operator has too many live pages open.
  if (this.status === 409) return pauseWith('Paused: open in other windows')
  if (this.status !== 200) return fail('No new figures', this.status === 503 ? UNAVAILABLE_MS : RETRY_MS)
  query = query.replace('&new=yes', '')
  document.body.classList.remove('stale')
  say('Live', 'good')
  answeredAt = waitingSince = Date.now()
  if (!motion.matches || answeredAt - shownAt >= CALM_MS) show(/** @type {Document} */ (this.response))
  timer = setTimeout(ask, INTERVAL_MS)
}

/** Shows how long there have been no new figures, and tries again. @param {string} word */
function fail(word, delay = RETRY_MS) {
  const isStale = Date.now() - waitingSince >= STALE_MS
  // A long pause begins only when the page says that its figures are old.
  timer = setTimeout(ask, isStale ? delay : RETRY_MS)
  if (!isStale) return say('Connecting', 'warn')
  document.body.classList.add('stale')
  say(
    `${word} since ${new Date(answeredAt).toLocaleTimeString('en-GB', { timeZone: document.documentElement.dataset.timeZone })}`,
    'bad',
  )
}

/** @param {string} word */
function stop(word) {
  isRunning = false
  clearTimeout(timer)
  request?.abort()
  document.body.classList.remove('stale')
  say(word, 'warn')
}

/** @param {string} word @param {'good' | 'warn' | 'bad'} tone */
function say(word, tone) {
  if (state.textContent !== word) state.textContent = word
  state.className = `badge ${tone}`
}

/** @param {Document} answer */
function show(answer) {
  shownAt = answeredAt
  const focused = document.activeElement
  for (const part of answer.querySelectorAll('[data-live]')) {
    const old = document.querySelector(`[data-live="${part.getAttribute('data-live')}"]`)
    // What can be clicked does not move away from under the pointer.
    const isHeld = old?.matches('[data-live="attention"]:hover') && matchMedia('(hover: hover)').matches
    if (old && !isHeld) update(old, part)
  }
  if (!focused || focused.isConnected) return
  const links = /** @type {NodeListOf<HTMLElement>} */ (
    document.querySelectorAll('[data-live] :is(a, button, summary)')
  )
  for (const link of links) {
    if (!link.isEqualNode(focused)) continue
    // It may have become one of several.
    if (link.localName !== 'summary') link.closest('details')?.setAttribute('open', '')
    link.focus({ preventScroll: true })
  }
}

/** Makes a node equal to another one. Keeps elements where possible, with focus, selection and tooltip. @param {Node} old @param {Node} now */
function update(old, now) {
  if (old.isEqualNode(now)) return
  const isAge = old instanceof HTMLTimeElement && 'age' in old.dataset
  // console.js has already converted it to the reader's time zone.
  if (old instanceof HTMLTimeElement && now instanceof HTMLTimeElement && old.dateTime === now.dateTime && !isAge)
    return
  const parent = /** @type {Node} */ (old.parentNode)
  const [children, others] = [[...old.childNodes], [...now.childNodes]]
  if (old.nodeName !== now.nodeName || children.length !== others.length) {
    const opened = old instanceof Element ? old.querySelectorAll('details[open][id]') : []
    parent.replaceChild(document.adoptNode(now), old)
    for (const { id } of opened) document.getElementById(id)?.setAttribute('open', '')
    return parent.dispatchEvent(new Event('console:changed', { bubbles: true }))
  }
  if (old instanceof Text) old.data = now.textContent ?? ''
  if (old instanceof Element && now instanceof Element) updateAttributes(old, now)
  for (const [n, child] of children.entries()) update(child, /** @type {Node} */ (others[n]))
  if (old instanceof HTMLTimeElement) parent.dispatchEvent(new Event('console:changed', { bubbles: true }))
}

/** @param {Element} old @param {Element} now */
function updateAttributes(old, now) {
  // The reader may have opened a part.
  for (const name of old.getAttributeNames()) if (name !== 'open' && !now.hasAttribute(name)) old.removeAttribute(name)
  for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value)
}

/** @param {string} word */
function pauseWith(word) {
  isPaused = true
  pause.textContent = 'Resume'
  stop(word)
}

pause.addEventListener('click', () => {
  if (!isPaused) return pauseWith('Paused')
  isPaused = false
  pause.textContent = 'Pause'
  start()
})
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) start()
  else if (isRunning) stop('Paused')
})

state.hidden = false
pause.hidden = false
reload.hidden = true
start()
