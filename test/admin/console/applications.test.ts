import t from 'tap'
import { createConsoleWorld } from '../../support/console-world.ts'
import { actionsOf, textOf } from '../../support/pages.ts'

const HOSTILE = `<script>alert(1)</script>"'><b onx=1>&amp;`

/** A console with this many applications; a-0 is the oldest. */
async function worldOf(t: Parameters<typeof createConsoleWorld>[0], count: number) {
  const world = await createConsoleWorld(t)
  for (let n = 0; n < count; n++) {
    await world.administration.applications.register({
      name: `Shop ${n}`,
      developerEmail: `dev${n}@partner.example`,
      clientId: `a-${n}`,
      suites: [],
    })
  }
  return { ...world, browser: await world.signIn() }
}

const idsIn = (body: string) => [...body.matchAll(/<a href="\/applications\/(a-\d+)"/g)].map(([, id]) => id)

t.test('Applications: an empty list says what to do next, except to a viewer', async (t) => {
  const { browser, signIn } = await worldOf(t, 0)
  const { body } = await browser('/applications')
  t.match(textOf(body), /No application is registered yet .* Register an application/)
  t.equal(body.split('href="/new-application"').length, 2)
  t.notMatch(body, 'name="search"')
  const seen = (await (await signIn('viewer'))('/applications')).body
  t.match(seen, 'No application is registered yet')
  t.notMatch(seen, '/new-application')
  t.strictSame(actionsOf(seen), [])
})

t.test('Applications: newest come first, and links to other pages keep the search', async (t) => {
  const { browser } = await worldOf(t, 60)
  const first = (await browser('/applications?search=shop&status=active')).body
  t.equal(idsIn(first).length, 50)
  t.equal(idsIn(first)[0], 'a-59')
  t.notMatch(first, '>Newest<')
  const [, older = ''] = /href="([^"]*)" rel="next"/.exec(first) ?? []
  const address = older.replaceAll('&amp;', '&')
  t.match(address, /^\/applications\?search=shop&status=active&after=/)
  const second = (await browser(address)).body
  t.strictSame(idsIn(second).at(-1), 'a-0')
  t.equal(idsIn(second).length, 10)
  t.match(second, 'href="/applications?search=shop&amp;status=active">Newest')
  t.notMatch(second, 'rel="next"')
  t.match((await browser(address.replace('search=shop&status=active&', ''))).body, 'href="/applications">Newest')
  t.equal((await browser('/applications?after=nonsense')).statusCode, 422)
})

t.test('Applications: they are found by name, client id, developer email and status', async (t) => {
  const { browser, administration } = await worldOf(t, 3)
  await administration.applications.suspend('a-1')
  const found = async (query: string) => idsIn((await browser(`/applications?${query}`)).body)
  t.strictSame(await found('search=SHOP+2'), ['a-2'])
  t.strictSame(await found('search=A-0'), ['a-0'])
  t.strictSame(await found('search=dev1@'), ['a-1'])
  t.strictSame(await found('status=suspended'), ['a-1'])
  t.strictSame(await found('status=else'), ['a-2', 'a-1', 'a-0'], 'an unknown status is ignored')
  const { body } = await browser('/applications?search=shop&status=suspended')
  t.match(body, 'name="search" type="search" value="shop"')
  t.match(body, '<option value="suspended" selected>')
  t.match(body, '<a class="button" href="/applications">Clear</a>')
})

t.test('Applications: an empty result repeats the search and offers to clear it', async (t) => {
  const { browser } = await worldOf(t, 1)
  const nothing = (await browser(`/applications?search=${encodeURIComponent(HOSTILE)}`)).body
  t.match(textOf(nothing), `No matches No application has “ ${HOSTILE} ” in its name`)
  t.match(nothing, 'Clear the search')
  t.notMatch(nothing, '<script>alert')
  t.notMatch(nothing, 'See why it is refused of it', 'no client id has spaces')
  t.match(
    (await browser('/applications?search=a%2Fb%22cd')).body,
    'href="/applications/a%2Fb%22cd">See why it is refused',
  )
  t.match(
    textOf((await browser('/applications?search=x&status=suspended')).body),
    'No application that is suspended has “ x ”',
  )
  t.match(textOf((await browser('/applications?status=suspended')).body), 'No application is suspended')
})

t.test('Applications: a row has suites, tokens and the last token; many suites are only counted', async (t) => {
  const { browser, administration, store, clock } = await worldOf(t, 1)
  const { key } = await administration.applications.show('a-0')
  const hour = Math.floor(clock.time / 3_600_000)
  await store.addTokenCounts([{ applicationKey: key, hour, issued: 1234, refused: 0, lastTokenAt: clock.time }])
  t.match(textOf((await browser('/applications')).body), / active none 0 s ago 1,234 /)
  for (let n = 0; n < 5; n++) await administration.suites.register({ suiteId: `s-${n}`, name: `S ${n}` })
  await administration.applications.approve('a-0', 's-0', 's-1', 's-2', 's-3', 's-4')
  const { body } = await browser('/applications')
  t.match(textOf(body), ' s-0 s-1 +3 ')
  t.match(body, 'title="s-0, s-1, s-2, s-3, s-4"')
})

t.test('Applications: fields are never rendered as markup', async (t) => {
  const { browser, administration } = await worldOf(t, 0)
  const clientId = `<i>"'&/?#%`
  await administration.applications.register({ name: HOSTILE, developerEmail: '<b>"\'@x.example', clientId })
  const { body } = await browser('/applications')
  for (const tag of ['<script>alert', '<b onx', '<b>', '<i>']) t.notMatch(body, tag)
  t.match(body, `href="/applications/${encodeURIComponent(clientId).replaceAll("'", '&#39;')}"`)
  t.match(textOf(body), HOSTILE)
})
