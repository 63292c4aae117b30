// Signs in with the code in the fragment of a one-time link. Without scripts, people paste the code into the form.

const form = document.querySelector('form[data-login]')

function signIn() {
  const code = location.hash.slice(1)
  if (code === '' || code === 'main' || !(form instanceof HTMLFormElement)) return
  // Keeps the code out of the history and off the screen.
  history.replaceState(null, '', location.pathname)
  const field = form.elements.namedItem('code')
  if (field instanceof HTMLInputElement) field.value = code
  form.requestSubmit()
}

signIn()
// Opening a link in a tab that already shows this page only changes the fragment.
addEventListener('hashchange', signIn)
