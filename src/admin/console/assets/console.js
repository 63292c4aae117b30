// @ts-check
// What makes the console nicer where scripts run. Every page works without it.

/** @param {number} number */
const two = (number) => String(number).padStart(2, '0')

/** Shows the moments of a part of the page in the reader's zone. @param {ParentNode} part */
function showLocalTimes(part) {
  const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' })
  for (const element of part.querySelectorAll('time')) {
    const moment = new Date(element.dateTime)
    element.title = `${whole.format(moment)}, ${element.dateTime}`
    if (element.dataset.age) continue
    const { clock } = element.dataset
    if (clock) {
      const parts = [moment.getHours(), moment.getMinutes(), ...(clock === 'seconds' ? [moment.getSeconds()] : [])]
      element.textContent = parts.map(two).join(':')
      continue
    }
    const date = [moment.getFullYear(), two(moment.getMonth() + 1), two(moment.getDate())].join('-')
    element.textContent = `${date} ${two(moment.getHours())}:${two(moment.getMinutes())}`
  }
}

/** Says in which zone the moments are. */
function nameZone() {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  for (const element of document.querySelectorAll('[data-zone]')) {
    element.textContent = `Times are in your time zone, ${timeZone}.`
  }
}

/** What was done is said once, and not again by who loads the page again. */
function forgetDone() {
  const url = new URL(location.href)
  if (!url.searchParams.has('done')) return
  url.searchParams.delete('done')
  history.replaceState(history.state, '', url)
}

/** @type {[unit: string, length: number][]} */
const UNITS = [
  ['days', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
]

/** Lets the ages of a page grow, as the server writes them. */
function keepAges() {
  const openedAt = Date.now()
  setInterval(() => {
    for (const element of document.querySelectorAll('time[data-age]')) {
      if (!(element instanceof HTMLTimeElement)) continue
      const age = Number(element.dataset.age) + Date.now() - openedAt
      const [unit, length] = UNITS.find(([, length]) => age >= 1.5 * length) ?? ['s', 1000]
      element.textContent = `${Math.round(age / length)} ${unit} ago`
    }
  }, 10_000)
}

/** Shows the buttons that copy, where the browser lets a page do so. @param {ParentNode} part */
function offerToCopy(part) {
  if (!navigator.clipboard) return
  for (const button of part.querySelectorAll('button[data-copy]')) {
    if (!(button instanceof HTMLButtonElement)) continue
    button.hidden = false
    button.addEventListener('click', async () => {
      const text = document.getElementById(button.dataset.copy ?? '')?.textContent ?? ''
      const isCopied = await navigator.clipboard.writeText(text).then(
        () => true,
        () => false,
      )
      say(button, isCopied ? 'Copied' : 'Select and copy it')
    })
  }
}

/** Shows a word on a button for a while, and tells it to screen readers. @param {HTMLButtonElement} button @param {string} word */
function say(button, word) {
  button.dataset.label ??= button.textContent ?? ''
  button.textContent = word
  announcer.textContent = word
  setTimeout(() => {
    button.textContent = button.dataset.label ?? ''
    announcer.textContent = ''
  }, 2000)
}

const announcer = document.createElement('p')
announcer.className = 'unseen'
announcer.setAttribute('role', 'status')

/** Lets buttons that ask first do so in a dialog. @param {ParentNode} part */
function askInDialogs(part) {
  for (const details of part.querySelectorAll('details.confirm')) {
    const form = details.querySelector('form')
    if (!form) continue
    details.querySelector('summary')?.addEventListener('click', (event) => {
      event.preventDefault()
      ask(details, form)
    })
  }
}

/** Moves a question into a dialog, and back when that is closed. @param {Element} details @param {HTMLFormElement} form */
function ask(details, form) {
  const dialog = document.createElement('dialog')
  dialog.className = 'ask'
  dialog.setAttribute('aria-label', form.querySelector('.question')?.textContent ?? '')
  const cancel = form.querySelector('button[data-cancel]')
  const close = () => dialog.close()
  if (cancel instanceof HTMLElement) cancel.hidden = false
  cancel?.addEventListener('click', close)
  dialog.addEventListener('close', () => {
    cancel?.removeEventListener('click', close)
    details.append(form)
    dialog.remove()
  })
  dialog.append(form)
  document.body.append(dialog)
  dialog.showModal()
  // Who presses Enter twice has not done it; where there is something to choose, that is first.
  if (cancel instanceof HTMLElement && !dialog.querySelector('select')) cancel.focus()
}

/** A form is sent once: a second click would do it twice. */
function sendOnce() {
  document.addEventListener('submit', (event) => {
    const form = event.target
    if (!(form instanceof HTMLFormElement) || form.method !== 'post') return
    if (form.dataset.sent) return event.preventDefault()
    form.dataset.sent = 'yes'
    // The name and value of the button that was clicked are read after this event.
    setTimeout(() => setDisabled(form, true))
  })
  // The page may come back from the browser's memory.
  addEventListener('pageshow', () => {
    for (const form of document.querySelectorAll('form[data-sent]')) {
      if (!(form instanceof HTMLFormElement)) continue
      delete form.dataset.sent
      setDisabled(form, false)
    }
  })
}

/** @param {HTMLFormElement} form @param {boolean} isDisabled */
function setDisabled(form, isDisabled) {
  for (const button of form.querySelectorAll('button')) button.disabled = isDisabled
}

document.body.append(announcer)
showLocalTimes(document)
nameZone()
forgetDone()
keepAges()
offerToCopy(document)
askInDialogs(document)
sendOnce()

// Another module has put something new on the page.
document.addEventListener('console:changed', ({ target }) => {
  if (target instanceof Element || target instanceof Document) showLocalTimes(target)
})
