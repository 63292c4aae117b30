// @ts-check
// Keeps the overview up to date: the server sends what has changed, by the names in `data-live` and `data-live-if`.

/** How often the page changes where its reader wants little to move, in milliseconds; else whenever something comes. */
const CALM_MS = 10_000

/** After how long without new figures the page says that they are old, in milliseconds. */
const STALE_MS = 5000

/** When it is tried again after an answer that was no stream, in milliseconds. */
const AGAIN_MS = 30_000

/** @type {Map<string, Element[]>} */
const places = new Map()
/** @type {Map<string, Element[]>} */
const conditions = new Map()
for (const element of document.querySelectorAll('[data-live]')) add(places, element.getAttribute('data-live'), element)
for (const element of document.querySelectorAll('[data-live-if]')) {
  add(conditions, element.getAttribute('data-live-if'), element)
}

/** @param {Map<string, Element[]>} map @param {string | null} name @param {Element} element */
function add(map, name, element) {
  if (name) map.set(name, [...(map.get(name) ?? []), element])
}

const state = /** @type {HTMLElement} */ (document.querySelector('[data-live-state]'))
const pause = /** @type {HTMLButtonElement} */ (document.querySelector('[data-live-pause]'))
const reload = /** @type {HTMLElement} */ (document.querySelector('[data-live-reload]'))
const ended = /** @type {HTMLElement} */ (document.querySelector('[data-live-ended]'))
const motion = matchMedia('(prefers-reduced-motion: reduce)')

/** @type {EventSource | undefined} */
let source
/** @type {ReturnType<typeof setTimeout> | undefined} */
let again
/** @type {ReturnType<typeof setTimeout> | undefined} */
let later
/** @type {ReturnType<typeof setInterval> | undefined} */
let watch
/** @type {Record<string, string>} */
let waiting = {}
let lastNewsAt = Date.now()
let isPaused = false
let hasEnded = false

function start() {
  clearTimeout(again)
  if (source || isPaused || hasEnded || document.hidden) return
  source = new EventSource('/live')
  if (!isStale()) {
    say('Connecting', 'warn')
    watchFrom(Date.now())
  }
  source.addEventListener('message', ({ data }) => {
    // Not when it is opened: a proxy may keep to itself what follows.
    say('Live', 'good')
    lastNewsAt = Date.now()
    watchFrom(lastNewsAt)
    Object.assign(waiting, JSON.parse(data))
    if (!motion.matches) apply()
    else later ??= setTimeout(apply, CALM_MS)
  })
  source.addEventListener('ended', () => {
    hasEnded = true
    ended.hidden = false
    stop('Ended')
  })
  // The same operator has opened more of these pages than may be live.
  source.addEventListener('elsewhere', () => pauseWith('Paused: open in other windows'))
  source.addEventListener('error', () => {
    if (!isStale()) say('Connecting', 'warn')
    if (source?.readyState !== EventSource.CLOSED) return
    source = undefined
    again = setTimeout(start, AGAIN_MS)
  })
}

/** Says it when no figures come. @param {number} start */
function watchFrom(start) {
  document.body.classList.remove('stale')
  clearInterval(watch)
  watch = setInterval(() => {
    if (Date.now() - start < STALE_MS) return
    document.body.classList.add('stale')
    const isOpen = source?.readyState === EventSource.OPEN
    const since = new Date(lastNewsAt).toLocaleTimeString()
    say(`${isOpen ? 'No new figures' : 'Not connected'} since ${since}`, 'bad')
  }, 1000)
}

function isStale() {
  return document.body.classList.contains('stale')
}

/** @param {string} word */
function stop(word) {
  clearTimeout(again)
  clearInterval(watch)
  document.body.classList.remove('stale')
  source?.close()
  source = undefined
  say(word, 'warn')
}

/** @param {string} word @param {'good' | 'warn' | 'bad'} tone */
function say(word, tone) {
  if (state.textContent !== word) state.textContent = word
  state.className = `badge ${tone}`
}

function apply() {
  clearTimeout(later)
  later = undefined
  for (const [name, value] of Object.entries(waiting)) {
    for (const element of places.get(name) ?? []) show(element, value)
    for (const element of conditions.get(name) ?? []) element.toggleAttribute('hidden', value === '')
  }
  waiting = {}
}

/** @param {Element} element @param {string} value */
function show(element, value) {
  if (element instanceof SVGPathElement) element.setAttribute('d', value)
  else if (element instanceof HTMLTimeElement) {
    element.dateTime = value
    element.parentElement?.dispatchEvent(new Event('console:changed', { bubbles: true }))
  } else element.textContent = value
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
  else if (source) stop('Paused')
})

state.hidden = false
pause.hidden = false
reload.hidden = true
start()
