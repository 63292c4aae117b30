import formbody from '@fastify/formbody'
import type { FastifyInstance } from 'fastify'
import type { AdminContext } from '../context.ts'
import { createOriginCheck } from '../wire/host.ts'
import { createNotFoundHandler } from '../wire/routing.ts'
import { aboutPage } from './about.ts'
import { application } from './application.ts'
import { listApplications, newApplication } from './applications.ts'
import { acknowledging } from './attention.ts'
import { auditPage } from './audit.ts'
import { documentPages } from './documents.ts'
import { showErrors } from './errors.ts'
import { serveAssets } from './layout.ts'
import { listSecrets } from './list-secrets.ts'
import { serveLive } from './live.ts'
import { login, recognizeSessions } from './login.ts'
import { askIfManaged } from './managed.ts'
import { operatorPages } from './operators.ts'
import { overviewPage } from './overview.ts'
import { preferencesOf, savePreferences } from './preferences.ts'
import { providerLogin } from './provider.ts'
import { refusalPages } from './refusals.ts'
import { searchPage } from './search.ts'
import { listSuites, newSuite, suite } from './suites.ts'

/** The console: pages and forms for operators who have signed in with a one-time link or the identity provider. */
export async function adminConsole(console: FastifyInstance, context: AdminContext): Promise<void> {
  const refuseUnknown = createNotFoundHandler(console)
  const assertSameOrigin = createOriginCheck(context)
  console.addHook('onRequest', (request, _reply, done) => {
    assertSameOrigin(request)
    done()
  })
  // Only a demo has its own instructions for signing in.
  console.decorateRequest('isDemo', context.howToSignIn !== undefined)
  console.decorateRequest('installation', { getter: () => context.about.installation })
  console.decorateRequest('preferences', {
    getter() {
      return preferencesOf(this)
    },
  })
  recognizeSessions(console, context.signIn)
  showErrors(console, context)
  await console.register(formbody)
  console.setNotFoundHandler(refuseUnknown)

  askIfManaged(console, context)
  serveAssets(console)
  login(console, context)
  providerLogin(console, context)
  overviewPage(console, context)
  acknowledging(console, context)
  serveLive(console, context)
  listApplications(console, context)
  newApplication(console, context)
  application(console, context)
  listSuites(console, context)
  newSuite(console, context)
  suite(console, context)
  listSecrets(console, context)
  refusalPages(console, context)
  searchPage(console, context)
  auditPage(console, context)
  operatorPages(console, context)
  aboutPage(console, context)
  documentPages(console)
  savePreferences(console)
}
