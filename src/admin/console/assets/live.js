// @ts-check
// Keeps the overview up to date. The server sends changed values by the names in `data-live` and `data-live-if`.

/** Milliseconds between updates if the reader prefers reduced motion. Otherwise every event updates the page. */
const CALM_MS = 10_000

/** Milliseconds without new figures after which the page says that they are old. */
const STALE_MS = 5000

/** Milliseconds until the next try if the answer was not an event stream. */
const RETRY_MS = 30_000

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
let retryTimer
/** @type {ReturnType<typeof setTimeout> | undefined} */
let applyTimer
/** @type {ReturnType<typeof setInterval> | undefined} */
let staleTimer
/** @type {Record<string, string>} */
let waiting = {}
let lastUpdateAt = Date.now()
let isPaused = false
let hasEnded = false

function start() {
  clearTimeout(retryTimer)
  if (source || isPaused || hasEnded || document.hidden) return
  source = new EventSource('/live')
  if (!isStale()) {
    say('Connecting', 'warn')
    watchForStale(Date.now())
  }
  source.addEventListener('message', ({ data }) => {
    // Not on `open`: a proxy may buffer the events that follow.
    say('Live', 'good')
    lastUpdateAt = Date.now()
    watchForStale(lastUpdateAt)
    Object.assign(waiting, JSON.parse(data))
    if (!motion.matches) apply()
    else applyTimer ??= setTimeout(apply, CALM_MS)
  })
  source.addEventListener('ended', () => {
    hasEnded = true
    ended.hidden = false
    stop('Ended')
  })
  // The operator has too many live pages open.
  source.addEventListener('elsewhere', () => pauseWith('Paused: open in other windows'))
  source.addEventListener('error', () => {
    if (!isStale()) say('Connecting', 'warn')
    if (source?.readyState !== EventSource.CLOSED) return
    source = undefined
    retryTimer = setTimeout(start, RETRY_MS)
  })
}

/** Shows a warning when no figures arrive. @param {number} start */
function watchForStale(start) {
  document.body.classList.remove('stale')
  clearInterval(staleTimer)
  staleTimer = setInterval(() => {
    if (Date.now() - start < STALE_MS) return
    document.body.classList.add('stale')
    const isOpen = source?.readyState === EventSource.OPEN
    const since = new Date(lastUpdateAt).toLocaleTimeString('en-GB')
    say(`${isOpen ? 'No new figures' : 'Not connected'} since ${since}`, 'bad')
  }, 1000)
}

function isStale() {
  return document.body.classList.contains('stale')
}

/** @param {string} word */
function stop(word) {
  clearTimeout(retryTimer)
  clearInterval(staleTimer)
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
  clearTimeout(applyTimer)
  applyTimer = undefined
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
