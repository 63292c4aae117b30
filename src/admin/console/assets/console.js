// @ts-check
// Progressive enhancement: every page works without this script.

/** The zone that the operator chose. Undefined: the reader's. */
const { timeZone } = document.documentElement.dataset

/** Shows times in the chosen time zone. @param {ParentNode} part */
function showLocalTimes(part) {
  for (const element of part.querySelectorAll('time')) {
    const moment = new Date(element.dateTime)
    element.title = `${moment.toLocaleString(undefined, { timeZone, dateStyle: 'full', timeStyle: 'long' })}, ${element.dateTime}`
    if ('age' in element.dataset) continue
    const { clock } = element.dataset
    // Sweden writes dates as in ISO 8601.
    if (clock === 'day')
      element.textContent = moment.toLocaleDateString('sv-SE', { timeZone, dateStyle: 'short' }).slice(5)
    else
      element.textContent = clock
        ? moment.toLocaleTimeString('sv-SE', { timeZone, timeStyle: clock === 'seconds' ? 'medium' : 'short' })
        : moment.toLocaleString('sv-SE', {
            timeZone,
            dateStyle: 'short',
            timeStyle: 'seconds' in element.dataset ? 'medium' : 'short',
          })
  }
}

function nameZone() {
  if (timeZone) return
  for (const element of document.querySelectorAll('[data-zone]')) {
    element.textContent = `Times are in your time zone, ${new Intl.DateTimeFormat().resolvedOptions().timeZone}.`
  }
}

/**
 * Removes the message from the URL, so that a reload does not show it again. A URL without one stays: after `replaceState`, a
 * reload would not repeat the request of a form, which shows a new secret again.
 */
function removeDone() {
  const url = new URL(location.href)
  for (const name of ['done', 'changed']) url.searchParams.delete(name)
  if (url.href !== location.href) history.replaceState(history.state, '', url)
}

/** Shows the copy buttons if the browser has a clipboard API. @param {ParentNode} part */
function enableCopyButtons(part) {
  if (!navigator.clipboard) return
  for (const button of part.querySelectorAll('button[data-copy]')) {
    if (!(button instanceof HTMLButtonElement)) continue
    button.hidden = false
    button.addEventListener('click', async () => {
      const text = document.getElementById(button.dataset.copy ?? '')?.textContent ?? ''
      const copied = navigator.clipboard.writeText(text).then(() => 'Copied')
      say(button, await copied.catch(() => 'Select and copy it'))
    })
  }
}

/** Shows a word on a button for 2 seconds, and announces it to screen readers. @param {HTMLButtonElement} button @param {string} word */
function say(button, word) {
  const label = button.querySelector('span')
  if (!label) return
  label.dataset.label ??= label.textContent ?? ''
  label.textContent = word
  announcer.textContent = word
  setTimeout(() => {
    label.textContent = label.dataset.label ?? ''
    announcer.textContent = ''
  }, 2000)
}

const announcer = document.createElement('p')
announcer.className = 'unseen'
announcer.setAttribute('role', 'status')

/** Opens confirmations in a dialog. @param {ParentNode} part */
function confirmInDialogs(part) {
  for (const details of part.querySelectorAll('details.confirm')) {
    const form = details.querySelector('form')
    if (!form) continue
    details.querySelector('summary')?.addEventListener('click', (event) => {
      event.preventDefault()
      ask(details, form)
    })
  }
}

/** Opens the question that the address names, as links of the page and of the search do. The address forgets it. */
function openAsked() {
  const question = document.getElementById(location.hash.slice(1))?.closest('details.confirm')
  if (!question) return
  history.replaceState(history.state, '', location.pathname + location.search)
  question.removeAttribute('open')
  question.querySelector('summary')?.click()
}

/** Moves a confirmation form into a dialog, and back when the dialog closes. @param {Element} details @param {HTMLFormElement} form */
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
  // Without a field, “Cancel” has the focus, so that pressing Enter twice changes nothing.
  const focused = dialog.querySelector('select, input:not([type=hidden])') ?? cancel
  if (focused instanceof HTMLElement) focused.focus()
}

/** Prevents a double click from sending a form twice. */
function sendOnce() {
  document.addEventListener('submit', (event) => {
    const form = event.target
    if (!(form instanceof HTMLFormElement) || form.method !== 'post') return
    if (form.dataset.sent) return event.preventDefault()
    form.dataset.sent = 'yes'
    // Later, because the browser adds the name and value of the clicked button after this event.
    setTimeout(() => setDisabled(form, true))
  })
  // The browser may restore the page from its back/forward cache.
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

/** Warns before leaving a page whose form was changed. The server marks a refused form as changed. */
function guardForms() {
  document.addEventListener('input', ({ target }) => {
    const form = target instanceof Element && target.closest('form[data-guard]')
    if (form instanceof HTMLElement) form.dataset.guard = 'changed'
  })
  document.addEventListener('submit', ({ target }) => {
    if (target instanceof HTMLElement && 'guard' in target.dataset) target.dataset.guard = ''
  })
  addEventListener('beforeunload', (event) => {
    if (document.querySelector('form[data-guard=changed]')) event.preventDefault()
  })
}

function enableTicking() {
  for (const buttons of document.querySelectorAll('[data-tick-buttons]')) {
    if (buttons instanceof HTMLElement) buttons.hidden = false
    buttons.addEventListener('click', ({ target }) => {
      const which = target instanceof HTMLElement && target.dataset.tick
      const boxes = buttons.closest('form')?.querySelectorAll('[data-checks] input[type=checkbox]') ?? []
      if (which) for (const box of boxes) if (box instanceof HTMLInputElement) box.checked = which === 'all'
      buttons.dispatchEvent(new Event('input', { bubbles: true }))
    })
  }
}

/**
 * A page with a new secret cannot be shown again: the button that copies it has the focus, following a link replaces it in the history,
 * and leaving it empties it, because the browser may keep it for the Back button.
 */
function forgetSecret() {
  const secret = document.querySelector('[data-left]')
  if (!(secret instanceof HTMLElement)) return
  const copy = [...secret.querySelectorAll('button[data-copy]')].at(-1)
  if (copy instanceof HTMLElement) copy.focus()
  document.addEventListener('click', ({ target, ctrlKey, metaKey, shiftKey }) => {
    const isLeft = target instanceof Element && target.closest('a[href^="/"]') && !ctrlKey && !metaKey && !shiftKey
    if (isLeft) history.replaceState(null, '', secret.dataset.left)
  })
  addEventListener('pagehide', () => document.body.replaceChildren())
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) location.replace(secret.dataset.left ?? '/')
  })
}

document.body.append(announcer)
showLocalTimes(document)
nameZone()
removeDone()
enableCopyButtons(document)
confirmInDialogs(document)
sendOnce()
guardForms()
enableTicking()
forgetSecret()
openAsked()
addEventListener('hashchange', openAsked)

// live.js has changed a time on the page.
document.addEventListener('console:changed', ({ target }) => {
  if (target instanceof Element || target instanceof Document) showLocalTimes(target)
})
