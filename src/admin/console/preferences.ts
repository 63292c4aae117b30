import type { FastifyInstance, FastifyRequest } from 'fastify'
import { DAY } from '../../domain/usage.ts'
import { fieldsOf } from './forms.ts'
import type { Preferences } from './layout.ts'
import { cookieIn, shortCookie } from './login.ts'

// How an operator wants to see the console: cookies of the browser, so that pages without scripts follow them, too.

/** What the cookie of each name may say. Without it: the theme of the system, the zone of the browser, the list of first steps. */
const CHOICES: Readonly<Record<'theme' | 'zone' | 'steps', readonly string[]>> = {
  theme: ['light', 'dark'],
  zone: ['server', 'utc'],
  steps: ['off'],
}

type Name = keyof typeof CHOICES

const NAMES = Object.keys(CHOICES) as Name[]

/** As long as browsers keep a cookie (RFC 6265bis §5.5). */
export const KEPT_SECONDS = (400 * DAY) / 1000

function choiceIn(name: Name, text: string | undefined): string | undefined {
  return CHOICES[name].find((choice) => choice === text)
}

export function preferencesOf(request: FastifyRequest): Preferences {
  const [theme, zone, steps] = NAMES.map((name) => choiceIn(name, cookieIn(request, name)))
  const timeZone = zone === 'server' ? new Intl.DateTimeFormat().resolvedOptions().timeZone : zone && 'UTC'
  return { theme, zone, timeZone, hidesSteps: steps === 'off' }
}

/** POST /preferences keeps the choices that a form has, and leads back to its page. */
export function savePreferences(console: FastifyInstance): void {
  console.post('/preferences', async (request, reply) => {
    const { all, text } = fieldsOf(request.body)
    const cookies = NAMES.filter((name) => all(name).length > 0).map((name) => {
      const choice = choiceIn(name, text(name))
      return shortCookie(request, name, choice ?? '', choice === undefined ? 0 : KEPT_SECONDS)
    })
    const back = text('back')
    return reply.header('set-cookie', cookies).redirect(/^\/(?![/\\])[!-~]*$/.test(back) ? back : '/', 303)
  })
}
