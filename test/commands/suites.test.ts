import t from 'tap'
import { expectAll, fails, startShell } from '../support/shell.ts'

const UNKNOWN = fails(/^There is no suite with the id nobody\.\n$/)

t.test('Suites: they are registered with credentials that are shown once, listed, shown and removed', async (t) => {
  const { run } = await startShell(t)
  const store = { id: 'store', client_id: 'store', name: 'Store', client_secret: /^\w{40}$/ }
  const info = /^Info \(suite\)\n {2}client_id {6}info\n {2}client_secret {2}\w{40}\nA generated /
  const more = / is shown this once .*\nApplications that are not approved for it: 1, which is all\.\n$/
  await expectAll(t, { run }, [
    ['suites register store --create --name Store', { json: { ...store, applications_not_approved: 0 } }],
    ['apps register --name A --developer-email a@b.example --client-id a', {}],
    ['suites register info --name Info', info],
    ['suites register more --name More', more],
    ['suites list', { json: [{ id: 'store', name: 'Store' }, { id: 'info' }, { id: 'more' }] }],
    ['suites list', /^suite +name\nstore +Store\ninfo +Info\nmore +More\n$/],
    ['suites show store', { json: { id: 'store', name: 'Store', approved: ['a'], secrets: [{ id: 1 }] } }],
    ['suites show store', /^suite {5}store\nname {6}Store\napproved {2}a\n\nsecret .*\n1 +generated .* active\n$/],
    ['suites show info', /\napproved {2}nobody\n/],
    ['suites remove store', { json: { id: 'store', status: 'removed' } }],
    ['suites remove info', /^The suite info is removed\.\n$/],
    ['suites list', { json: [{ id: 'more' }] }],
    ['suites show nobody', UNKNOWN],
  ])
})

t.test('Suites: their names are updated, and their secrets rotated, listed and revoked', async (t) => {
  const { run } = await startShell(t, ({ suites }) => suites.register({ suiteId: 'store', name: 'Store' }))
  await expectAll(t, { run }, [
    ['suites update store --name Shop', /^The suite store is updated\.\n$/],
    ['suites update store --name Shop', /^The suite store is as it was\.\n$/],
    ['suites update store --name Shop', { json: { id: 'store', name: 'Shop' } }],
    ['suites update nobody --name A', UNKNOWN],
    ['suites update store --name ', fails(/^The name must not be empty\.\n$/)],
    ['secrets rotate store --overlap 1h', { json: { client_id: 'store', client_secret: /^\w{40}$/ } }],
    ['secrets list store', { json: [{ id: 1, ends_at: /Z$/ }, { id: 2 }] }],
    ['secrets revoke store 2', { json: { client_id: 'store', id: 2 } }],
    ['secrets list nobody', fails(/no application and no suite/)],
  ])
})

t.test('Suites: of many applications that are approved, some are named, or all where that is asked for', async (t) => {
  const clientIds = Array.from({ length: 12 }, (_, n) => `a${n}`)
  const { run } = await startShell(t, async ({ applications, suites }) => {
    await suites.register({ suiteId: 'store', name: 'Store' })
    for (const clientId of clientIds) {
      await applications.register({ name: 'A', developerEmail: 'a@b.example', clientId })
    }
  })
  const some = /^approved {2}12 applications: a0, a1, a2, a3, a4, a5, a6, a7, a8, a9 … \(--all names every one\)$/m
  await expectAll(t, { run }, [
    ['suites show store', some],
    ['suites show store --all', { out: `\napproved  ${clientIds.join(', ')}\n` }],
    ['suites show store', { json: { approved: clientIds } }],
  ])
})
