// @ts-check
// Shows the figures of a chart at the pointer or, with the arrow keys, of one moment after the other, and announces them. Without this script, the browser shows them on hover.

const { timeZone } = document.documentElement.dataset

const tip = document.createElement('p')
tip.className = 'tip'
tip.setAttribute('role', 'status')
document.body.append(tip)

/** The index of the moment that the keyboard reached last. */
let at = 0

/** The moment whose figures are shown. @type {Element | undefined} */
let shown

/** Shows the figures of a moment, in the reader's time zone; without one, hides them. @param {Element} [zone] */
function show(zone) {
  shown = zone
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
  Object.assign(tip.style, { left: `${x}px`, top: `${top - tip.offsetHeight}px` })
  tip.style.setProperty('--line', `${left + width / 2 - x}px`)
  tip.style.setProperty('--height', `${height}px`)
}

/** The moments of the chart at an element. @param {EventTarget | null} target */
function zonesAt(target) {
  const plot = target instanceof Element && target.closest('.plot')
  return plot ? [...plot.querySelectorAll('.zones > rect')] : []
}

document.addEventListener('pointermove', ({ target, clientX }) => {
  const zones = zonesAt(target)
  const zone = zones.findLast((zone) => zone.getBoundingClientRect().left <= clientX)
  if (zone || zonesAt(document.activeElement).length === 0) show(zone)
})

document.addEventListener('keydown', (event) => {
  const zones = zonesAt(event.target)
  const last = zones.length - 1
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key]
  if (event.key === 'Escape') show()
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
