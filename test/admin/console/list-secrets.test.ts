import t from 'tap'
import { createConsoleWorld, textOf, unescaped } from '../../support/console-world.ts'
import { application } from '../../support/newcomers.ts'
import { AUDIT, on } from '../../support/on.ts'
import { credential } from '../../support/workload-issuer.ts'
import { START } from '../../support/world.ts'

const DAY = 24 * 60 * 60_000

/** The ids of the secrets that a page lists. */
const idsIn = (body: string) =>
  [...body.matchAll(/data-label="Secret"><div><a [^>]*>secret (\d+) /g)].map(([, id]) => Number(id))

t.test('Secrets: all are listed by age, end or last use, with filters, and each leads to its owner', async (t) => {
  const { signIn, administration, store } = await createConsoleWorld(t)
  const { applications, suites } = administration
  await suites.register({ suiteId: 'store', name: 'Store API' })
  await applications.register({ clientId: 'Shop/1', name: 'Größe' })
  const secret = (createdAt: number, endsAt: number | null = null) => ({ digest: '$sha256$x', createdAt, endsAt })
  await on(store).addSecret('Shop/1', secret(START - 400 * DAY))
  await on(store).addSecret('store', secret(START - 300 * DAY, START + 30 * DAY))
  await on(store).addSecret('store', secret(START - 200 * DAY, START + 31 * DAY))
  await on(store).addSecret('store', secret(START - 100 * DAY, START))
  await on(store).addSecret('store', secret(START - 50 * DAY))
  await on(store).revokeSecret('store', 7, START)
  await on(store).addSecret('Shop/1', { ...secret(START, START + 29 * DAY), digest: '$scrypt$x' }, AUDIT)
  await store.recordSecretUses([
    { secretId: 1, lastUsedAt: START - 5 },
    { secretId: 3, lastUsedAt: START - 9 },
  ])
  const viewer = await signIn('viewer')
  const list = async (query: string) => idsIn(await viewer.body(`/secrets${query}`))
  t.strictSame(await list(''), [3, 4, 5, 1, 2, 8])
  t.strictSame(await list('?sort=end'), [8, 4, 5, 1, 2, 3])
  t.strictSame(await list('?sort=use'), [2, 4, 5, 8, 3, 1])
  t.strictSame(await list('?show=ending'), [8, 4], 'those that end first')
  t.strictSame(await list('?show=ending&sort=age'), [4, 8])
  t.strictSame(await list('?show=unused'), [4, 5, 2, 8])
  t.strictSame(await list('?show=old'), [3])
  t.strictSame(await list('?show=toString&sort=toString'), await list(''))
  const { body } = await viewer('/secrets')
  t.match(unescaped(body), '<a href="/applications/Shop%2F1#secrets">')
  t.match(body, '<code title="Shop/1">')
  t.match(body, '<a href="/suites/store#secrets">')
  t.match(textOf(body), /6 secrets .* imported active, ends /)
  t.match(
    textOf(body),
    ' All active ones 6 Ending within 7 days 0 Ending within 30 days 2 Never used 4 Older than a year 1 ',
  )
  t.match(body, '<a href="/secrets" aria-current="page">')
  t.match(await viewer.text('/secrets?show=old'), ' 1 secret ')
  await on(store).addSecret('store', secret(START, START + 7 * DAY))
  await on(store).addSecret('store', secret(START, START + 6 * DAY))
  t.strictSame(await list('?show=soon'), [10, 9], 'those that end first')
  await applications.remove('Shop/1')
  t.match(await viewer.body('/secrets?show=old'), 'No matches')
  await suites.remove('store')
  t.match(await viewer.body('/secrets'), 'No secrets yet')
})

t.test('Secrets: the details of one are beside the list, with a link to where it is rotated', async (t) => {
  const { signIn, administration, store } = await createConsoleWorld(t)
  await administration.suites.register({ suiteId: 'store', name: 'Store API' })
  await administration.applications.register({ clientId: 'Shop/1', name: 'Größe', suites: [] })
  await on(store).addSecret('Shop/1', credential('https://issuer.example'))
  await on(store).revokeSecret('Shop/1', 2, START)
  await store.recordSecretUses([{ secretId: 1, lastUsedAt: START, lastUsedFrom: '192.0.2.7' }])
  const browser = await signIn('viewer')
  const { body } = await browser('/secrets?sort=end&open=1')
  t.match(textOf(body), /secret 1 · generated Close Owner Store API store suite State active .* from 192\.0\.2\.7/)
  t.match(body, '<a class="button" href="/suites/store#secrets">')
  t.match(body, 'href="/secrets?sort=end&amp;open=3#row-3"')
  t.match(await browser.text('/secrets?open=3'), /credential 3 .* Owner Größe .* iss=https:\/\/issuer\.example/)
  t.match(await browser.text('/secrets?open=2'), /State revoked .* Revoked 2027-01-15 08:00 UTC/)
  for (const id of ['9', 'x']) t.match(await browser.text(`/secrets?open=${id}`), 'No such secret', id)
})

t.test('Secrets: the list has pages, of more secrets than are read at a time', async (t) => {
  const { signIn, store } = await createConsoleWorld(t)
  const applications = Array.from({ length: 501 }, (_, n) => application(`a${n}`))
  await store.register({ suites: [], applications }, AUDIT)
  const browser = await signIn()
  const first = await browser.body('/secrets?sort=end')
  t.match(textOf(first), ' 501 secrets ')
  t.equal(idsIn(first).length, 50)
  t.match(unescaped(first), '<a class="button" href="/secrets?sort=end&from=50" rel="next">Next</a>')
  const last = await browser.body('/secrets?sort=end&from=500')
  t.strictSame(idsIn(last), [501])
  t.match(last, '<a class="button" href="/secrets?sort=end">First</a>')
  t.notMatch(last, 'rel="next"')
  t.equal(idsIn(await browser.body('/secrets?from=x')).length, 50)
})
