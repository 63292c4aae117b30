// @ts-check
// Shows the figures of a chart at the pointer, and reads them aloud with the arrow keys. Without this script, the browser shows them on hover.

const tip = document.createElement('p')
tip.className = 'tip'
tip.setAttribute('role', 'status')
tip.hidden = true
document.body.append(tip)

/** The number of the strip at which each chart was last read with the keyboard. @type {WeakMap<Element, number>} */
const readAt = new WeakMap()

/** Shows the figures of a strip; without one, hides them. @param {SVGRectElement} [zone] */
function show(zone) {
  tip.hidden = !zone
  if (!zone) return
  const { left, width, top, height } = zone.getBoundingClientRect()
  tip.textContent = (zone.textContent ?? '').replace(/(\d{4}-\d\d-\d\d) (\d\d:\d\d) UTC/, (_, day, clock) => {
    // Sweden writes dates as in ISO 8601.
    return new Date(`${day}T${clock}Z`).toLocaleString('sv-SE', { dateStyle: 'short', timeStyle: 'short' })
  })
  const centre = left + width / 2
  const room = document.documentElement.clientWidth - tip.offsetWidth
  tip.style.left = `${Math.max(0, Math.min(centre - tip.offsetWidth / 2, room))}px`
  tip.style.top = `${top - tip.offsetHeight}px`
  tip.style.setProperty('--line', `${centre - parseFloat(tip.style.left)}px`)
  tip.style.setProperty('--height', `${height}px`)
}

/** @param {EventTarget | null} target */
const plotOf = (target) => (target instanceof Element ? target.closest('.plot') : null)

/** @param {Element} plot @returns {SVGRectElement[]} */
const zonesOf = (plot) => [...plot.querySelectorAll('.zones > rect')].filter((zone) => zone instanceof SVGRectElement)

document.addEventListener('pointermove', ({ target, clientX }) => {
  const plot = plotOf(target)
  const { left = 0, right = 0 } = plot?.querySelector('svg')?.getBoundingClientRect() ?? {}
  const isInside = plot && clientX >= left && clientX <= right
  if (isInside) show(zonesOf(plot).findLast((zone) => zone.getBoundingClientRect().left <= clientX))
  else if (!plotOf(document.activeElement)) show()
})

/** The number of the strip that a key leads to. @type {Record<string, (at: number, last: number) => number>} */
const KEYS = {
  ArrowLeft: (at) => at - 1,
  ArrowRight: (at) => at + 1,
  Home: () => 0,
  End: (_, last) => last,
}

document.addEventListener('keydown', (event) => {
  const plot = plotOf(event.target)
  if (event.key === 'Escape') show()
  const move = KEYS[event.key]
  if (!plot || !move || event.altKey || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  const zones = zonesOf(plot)
  const last = zones.length - 1
  const at = Math.min(Math.max(move(readAt.get(plot) ?? last + 1, last), 0), last)
  readAt.set(plot, at)
  show(zones[at])
})
document.addEventListener('focusout', () => show())
document.addEventListener('scroll', () => show(), { passive: true })
