import t, { type Test } from 'tap'
import { actionsOf, copyOf, createConsoleWorld, textOf, valuesOf } from '../../support/console-world.ts'
import { AUDIT } from '../../support/on.ts'
import { registrationJson } from '../../support/registration.ts'

const PAGE = '/applications/a'
const LINKS = `${PAGE}/hand-over-links`
const NEW = registrationJson({ name: 'New' })
const HOUR = 3_600_000
const URL = 'https://token.example/hand-over'

/** A console with an application `a` and a suite, with hand-over links if they have a URL. */
async function setting(t: Test, handOverUrl?: string) {
  const world = await createConsoleWorld(t, { ...(handOverUrl && { handOverUrl }) })
  await world.administration.applications.register({ clientId: 'a', name: 'The <b>' })
  await world.administration.suites.register({ suiteId: 'store', name: 'Store API' })
  return { ...world, browser: await world.signIn() }
}

t.test('Hand-over links: one is made with the choice of the operator, shown once, listed and withdrawn', async (t) => {
  const { browser, signIn, store, events, lines, clock } = await setting(t, URL)
  const [request_key = ''] = valuesOf(await browser.body(PAGE), 'request_key')
  const form = { request_key, overlap: '3600', hours: '' }
  const { statusCode, headers, body } = await browser(LINKS, { form })
  t.strictSame([statusCode, headers['cache-control']], [200, 'no-store'])
  const link = copyOf(body, 'link')
  t.match(link, /^https:\/\/token\.example\/hand-over#[A-Za-z0-9]{44}$/)
  t.equal(await browser.body(LINKS, { form }), body, 'a reload makes no other link')
  t.match(await store.listHandOverLinks('a'), [{ madeBy: 'anna', overlapSeconds: 3600, endsAt: clock.time + HOUR }])
  t.match(events.at(-1), { type: 'hand-over link made', clientId: 'a', linkId: 1, actor: 'anna', origin: 'console' })

  const shown = await browser.text(PAGE)
  t.match(shown, /Unused hand-over links .* by anna .* 1 h after its use/)
  t.match(await browser.text('/audit'), /Hand-over link made .* hand-over link: 1/)
  for (const page of [PAGE, '/audit']) t.notMatch(await browser.body(page), link.split('#')[1])
  t.notMatch(lines.join(''), link.split('#')[1])
  const viewer = await (await signIn('viewer')).body(PAGE)
  t.match(textOf(viewer), 'Unused hand-over links')
  t.strictSame(actionsOf(viewer), [])
  t.equal(await browser.status('/applications/store'), 404)

  t.equal(await browser.status(`${PAGE}/secrets`, { form }), 200, 'the other button of the form')
  const made = (await store.findApplication('a'))?.secrets.length
  t.equal(made, 2)
  t.equal(await browser.location(`${LINKS}/1/withdraw`, { form: {} }), `${PAGE}?done=link-withdrawn`)
  t.notMatch(await browser.body(PAGE), 'Unused hand-over links')
  t.equal(await browser.status(`${LINKS}/1/withdraw`, { form: {} }), 404)
})

t.test('Hand-over links: a new application is offered one, which replaces its secret', async (t) => {
  const { browser, store } = await setting(t, URL)
  const { body } = await browser('/new-application', { form: { ...NEW, request_key: 'b' } })
  const [action = ''] = actionsOf(body)
  t.match(action, /^\/applications\/[^/]+\/hand-over-links$/)
  const made = await browser(action, {
    form: { request_key: valuesOf(body, 'request_key'), overlap: valuesOf(body, 'overlap') },
  })
  t.match(copyOf(made.body, 'link'), `${URL}#`)
  t.match(await store.listHandOverLinks(copyOf(body, 'client-id')), [{ overlapSeconds: 0 }])
})

t.test('Hand-over links: an operator of the identity provider who made one is shown with its host', async (t) => {
  const { browser, store, clock } = await setting(t, URL)
  const operator = 'https://login.example#7'
  await store.change({ type: 'operator added', operator, role: 'admin', email: 'anna' }, AUDIT)
  for (const madeBy of [operator, 'root']) {
    const link = { clientId: 'a', digest: madeBy, endsAt: clock.time + HOUR, madeBy, overlapSeconds: 60 }
    await store.change({ type: 'hand-over link made', ...link }, AUDIT)
  }
  const shown = await browser.text(PAGE)
  for (const name of ['anna (login.example)', 'root']) t.match(shown, `by ${name}`)
})

t.test('Hand-over links: an expired one is not listed', async (t) => {
  const { browser, signIn, clock } = await setting(t, URL)
  await browser(LINKS, { form: { overlap: '0' } })
  t.match(await browser.text(PAGE), 'not at all')
  clock.time += HOUR
  t.notMatch(await (await signIn()).body(PAGE), 'Unused hand-over links')
})

t.test('Hand-over links: a wrong number of hours and an unknown application are refused', async (t) => {
  const { browser, store } = await setting(t, URL)
  const { statusCode, body } = await browser(LINKS, { form: { overlap: '3600', hours: '0' } })
  t.equal(statusCode, 422)
  t.match(body, /<details class="confirm" open>.*It must be a whole number of hours/s)
  t.equal(await browser.status('/applications/x/hand-over-links', { form: { overlap: '0' } }), 404)
  t.strictSame(await store.listHandOverLinks('a'), [])
})

t.test('Hand-over links: where they are off, no page offers them, and none is made', async (t) => {
  const { browser, store } = await setting(t)
  t.notMatch(await browser.body(PAGE), 'hand-over-links')
  t.match(await browser.text(PAGE), 'To send it by a link that shows it once: HANDOVER=on')
  t.notMatch(await browser.body('/suites/store'), 'HANDOVER')
  t.notMatch(await browser.body('/new-application', { form: { ...NEW, request_key: 'b' } }), 'hand-over-links')
  const { statusCode, body } = await browser(LINKS, { form: { overlap: '0' } })
  t.equal(statusCode, 409)
  t.match(body, 'Hand-over links are off: HANDOVER=on turns them on.')
  t.strictSame(await store.listHandOverLinks('a'), [])
})
