import t from 'tap'
import { createWorldOfSuites } from '../support/suites.ts'

t.test('RFC 6749 §5.1: what is true for a moment only is kept out of every cache', async (t) => {
  const { app, token, verify, introspect, post, credentials } = await createWorldOfSuites(t)
  const accessToken = await token()
  const answers = {
    'a token': await post(),
    'a check': await verify(accessToken),
    'a refused check': await verify('x'),
    'an active token': await introspect(accessToken),
    'an inactive token': await introspect('x'),
    'a revocation': await post({ ...credentials, token: accessToken }, {}, '/v1/oauth/revoke'),
    live: await app.inject('/health/live'),
    ready: await app.inject('/health/ready'),
    'no endpoint': await app.inject('/nowhere'),
  }
  for (const [what, { headers }] of Object.entries(answers)) {
    t.match(headers, { 'cache-control': 'no-store', pragma: 'no-cache' }, what)
    t.equal(headers['x-content-type-options'], 'nosniff', what)
  }
  const metadata = await app.inject('/.well-known/oauth-authorization-server')
  t.equal(metadata.headers['x-content-type-options'], 'nosniff')
})
