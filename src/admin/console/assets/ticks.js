// @ts-check
// Keeps what is ticked in a list while the operator turns pages, sorts and searches, in this window. Without this script, only what
// is ticked on one page counts.

// What was ticked has been used. The list may have no form now, because nothing matches any more.
const done = /** @type {HTMLElement | null} */ (document.querySelector('[data-ticks-done]'))
if (done) sessionStorage.removeItem(`ticks ${done.dataset.ticksDone}`)

const form = /** @type {HTMLFormElement | null} */ (document.querySelector('form[data-ticks]'))
if (form) keepTicks(form)

/** @param {HTMLFormElement} form */
function keepTicks(form) {
  const key = `ticks ${form.dataset.ticks}`
  const shown = /** @type {HTMLOutputElement} */ (form.querySelector('[data-ticked]'))
  /** @type {NodeListOf<HTMLInputElement>} */
  const found = form.querySelectorAll('input[name=client_id]')
  const boxes = [...found]
  /** @type {NodeListOf<HTMLButtonElement>} */
  const actions = form.querySelectorAll('button[name=change]')
  const all = /** @type {HTMLInputElement | null} */ (form.querySelector('input[name=matching]'))
  /** @returns {Set<string>} */
  const read = () => new Set(JSON.parse(sessionStorage.getItem(key) ?? '[]'))

  function show(ticked = read()) {
    for (const box of boxes) box.checked = ticked.has(box.value)
    // In the plain list, nothing is asked until something is ticked.
    shown.hidden = ticked.size === 0 && form.dataset.ticks === ''
    shown.value = `${ticked.size.toLocaleString('en')} selected`
    for (const button of actions) button.disabled = ticked.size === 0 && !all?.checked
  }

  /** @param {Set<string>} ticked */
  function keep(ticked) {
    sessionStorage.setItem(key, JSON.stringify([...ticked]))
    show(ticked)
  }

  form.addEventListener('input', () => {
    const here = boxes.filter(({ checked }) => checked).map(({ value }) => value)
    keep(
      read()
        .difference(new Set(boxes.map(({ value }) => value)))
        .union(new Set(here)),
    )
  })
  form.addEventListener('click', ({ target }) => {
    if (target instanceof HTMLElement && target.dataset.tick === 'none') keep(new Set())
  })
  form.addEventListener('formdata', ({ formData }) => {
    for (const id of read().difference(new Set(formData.getAll('client_id')))) formData.append('client_id', id)
  })
  show()
  // From the browser's cache of pages, which is older than what was ticked since.
  addEventListener('pageshow', () => show())
}
