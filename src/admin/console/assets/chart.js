// @ts-check
// Shows the figures of all charts at the pointer or, with the arrow keys, of one moment after the other, and announces those of this chart. Dragging over a chart chooses its time. Without this script, the browser shows the figures on hover.

const { timeZone } = document.documentElement.dataset

/** The first is for the chart at the pointer or with the focus. */
const tips = [...document.querySelectorAll('.plot')].map((_, n) => {
  const tip = document.createElement('p')
  tip.className = 'tip'
  tip.setAttribute(n === 0 ? 'role' : 'aria-hidden', n === 0 ? 'status' : 'true')
  document.body.append(tip)
  return tip
})

/** The index of the moment that the keyboard reached last. */
let at = 0

/** The moment whose figures are shown. @type {Element | undefined} */
let shown

/** Where the pointer was pressed. @type {{ plot: Element, x: number } | undefined} */
let pressed

/** Shows the figures of a moment, and those of the other charts of the same times; without one, hides them. @param {Element} [zone] */
function show(zone) {
  shown = zone
  const own = zonesAt(zone)
  const others = [...document.querySelectorAll('.plot')].map(zonesAt).filter(([first]) => first !== own[0])
  const at = own.indexOf(/** @type {Element} */ (zone))
  for (const [n, tip] of tips.entries()) {
    const all = [own, ...others][n]
    place(tip, all?.length === own.length ? all[at] : undefined)
  }
}

/** Shows the figures of a moment, in the reader's time zone, over the times below its chart: nothing else is there. @param {HTMLElement} tip @param {Element | undefined} zone */
function place(tip, zone) {
  tip.textContent = (zone?.textContent ?? '').replace(/(From )?(\S+) (\d\d:\d\d) UTC/, (_, from = '', day, clock) => {
    // Sweden writes dates as in ISO 8601.
    const options = /** @type {const} */ ({ timeZone, dateStyle: 'short', timeStyle: 'short' })
    const shown = new Date(`${day}T${clock}Z`).toLocaleString('sv-SE', options)
    return from === '' ? shown.slice(11) : from + shown
  })
  if (!zone) return
  const { left, top, width, height } = zone.getBoundingClientRect()
  const plot = /** @type {Element} */ (zone.closest('.plot')).getBoundingClientRect()
  const x = Math.max(plot.left, Math.min(left + (width - tip.offsetWidth) / 2, plot.right - tip.offsetWidth))
  // The one at the pointer stays in the window.
  const y = Math.min(top + height, tip.role ? innerHeight - tip.offsetHeight : Infinity)
  Object.assign(tip.style, { left: `${x}px`, top: `${y}px` })
  tip.style.setProperty('--line', `${left + width / 2 - x}px`)
  tip.style.setProperty('--height', `${y - top}px`)
}

/** The moments of the chart at an element. @param {EventTarget | null | undefined} target */
function zonesAt(target) {
  const plot = target instanceof Element && target.closest('.plot')
  return plot ? [...plot.querySelectorAll('.zones > rect')] : []
}

/** Marks the moments of a chart between two places. @param {Element} plot @param {number} [from] @param {number} [to] */
function mark(plot, from = 0, to = 0) {
  for (const zone of zonesAt(plot)) {
    const { left, right } = zone.getBoundingClientRect()
    zone.classList.toggle('picked', left < Math.max(from, to) && right > Math.min(from, to))
  }
}

/** Puts the times of two places into the fields of the page's time range, and sends them. @param {Element} plot @param {number} from @param {number} to */
function choose(plot, from, to) {
  const { left, width } = /** @type {Element} */ (plot.querySelector('svg')).getBoundingClientRect()
  const { from: first, to: last } = /** @type {HTMLElement} */ (plot).dataset
  for (const [name, x] of Object.entries({ since: Math.min(from, to), until: Math.max(from, to) })) {
    const share = Math.min(Math.max((x - left) / width, 0), 1)
    const time = new Date(Number(first) + share * (Number(last) - Number(first)))
    const field = /** @type {HTMLInputElement} */ (document.querySelector(`.range [name=${name}]`))
    field.value = time.toISOString().slice(0, 16)
    if (name === 'until') field.form?.requestSubmit()
  }
}

document.addEventListener('pointermove', ({ target, clientX }) => {
  const zones = zonesAt(target)
  const zone = zones.findLast((zone) => zone.getBoundingClientRect().left <= clientX)
  if (zone || zonesAt(document.activeElement).length === 0) show(zone)
  if (pressed) mark(pressed.plot, pressed.x, clientX)
})

document.addEventListener('pointerdown', ({ target, clientX: x, button, pointerType }) => {
  const plot = target instanceof Element && target.closest('.plot')
  if (plot && button === 0 && pointerType !== 'touch') pressed = { plot, x }
})

/** Fewer pixels are a click. */
const DRAGGED = 8

document.addEventListener('pointerup', ({ clientX }) => {
  if (!pressed) return
  const { plot, x } = pressed
  pressed = undefined
  mark(plot)
  if (Math.abs(clientX - x) >= DRAGGED) choose(plot, x, clientX)
})

document.addEventListener('keydown', (event) => {
  const zones = zonesAt(event.target)
  const last = zones.length - 1
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key]
  if (event.key === 'Escape') {
    if (pressed) mark(pressed.plot)
    pressed = undefined
    show()
  }
  if (to === undefined || last < 0) return
  event.preventDefault()
  at = Math.min(Math.max(to, 0), last)
  show(zones[at])
})

document.addEventListener('focusin', ({ target }) => {
  at = zonesAt(target).length - 1
  show(zonesAt(target)[at])
})
document.addEventListener('scroll', () => show(shown), { passive: true })
