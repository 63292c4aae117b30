import type { Test } from 'tap'
import { browserTest } from '../../support/browser.ts'
import { signIn, startBoth } from '../../support/console.ts'
import { startRecorder } from '../../support/recorder.ts'

/** A malicious site on this machine that serves this page at every path. Resolves to its address. */
async function startStranger(t: Test, body: string): Promise<string> {
  const { address } = await startRecorder(t, (response) => response.setHeader('content-type', 'text/html').end(body))
  return `http://${address}/`
}

browserTest('Other sites: their forms, frames and scripts can neither change nor read anything', async (t) => {
  const { browser, console } = await startBoth(t)
  const { clientId } = await console.register()
  const { page } = await signIn(browser, console)
  const paths = [`/applications/${clientId}/suspend`, `/applications/${clientId}/remove`, '/applications', '/logout']
  // Another port is still the same site, so even SameSite cookies are sent.
  const forms = paths.map((path) => `<form method="post" action="${console.origin}${path}"><button>go</button></form>`)
  const stranger = await startStranger(t, forms.join(''))
  for (const [index, path] of paths.entries()) {
    await page.goto(stranger)
    const answer = page.waitForResponse((response) => response.url() === console.origin + path)
    await page.getByRole('button').nth(index).click()
    t.equal((await answer).status(), 403, path)
  }

  await page.goto(await startStranger(t, `<iframe src="${console.origin}/applications"></iframe>`))
  const frame = page.frames()[1]
  await frame?.waitForLoadState().catch(() => {})
  t.notOk(await frame?.getByText('Signed in as').count())

  await page.goto(await startStranger(t, '<p>hello'))
  const outcomes = await page.evaluate(
    async ([origin, id]) => {
      const ask = (path: string, options: RequestInit) =>
        fetch(origin + path, { credentials: 'include', ...options }).then(
          async (answer) => `${answer.type} ${answer.status} ${(await answer.text()).length}`,
          () => 'blocked',
        )
      const form = { 'content-type': 'application/x-www-form-urlencoded' }
      return [
        await ask(`/applications/${id}`, {}),
        await ask(`/applications/${id}`, { mode: 'no-cors' }),
        await ask(`/applications/${id}/suspend`, { method: 'POST', headers: form, mode: 'no-cors' }),
        await ask(`/applications/${id}/suspend`, { method: 'POST', headers: form }),
        await ask(`/admin/v1/applications/${id}`, { method: 'DELETE' }),
        await ask('/live', {}),
      ]
    },
    [console.origin, clientId],
  )
  for (const outcome of outcomes) t.ok(['blocked', 'opaque 0 0'].includes(outcome), outcome)
  t.match(await console.command('applications', 'show', clientId), { status: 'active' })
  await page.goto(`${console.origin}/applications`)
  t.ok(await page.getByText('Signed in as anna').isVisible(), 'the operator is still signed in')
})
