// Takes the code of a one-time link out of the address and signs in. Without scripts the code is put into the form by hand.

const form = document.querySelector('form[data-login]')

function signIn() {
  const code = location.hash.slice(1)
  if (code === '' || code === 'main' || !(form instanceof HTMLFormElement)) return
  // Neither the history nor whoever looks at the screen has it any longer.
  history.replaceState(null, '', location.pathname)
  const field = form.elements.namedItem('code')
  if (field instanceof HTMLInputElement) field.value = code
  form.requestSubmit()
}

signIn()
// A link that is opened where this page is shown already loads nothing.
addEventListener('hashchange', signIn)
