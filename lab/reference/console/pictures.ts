import type { Client } from './registrations.ts'

/** A screenshot in docs/console.md. */
export interface Picture {
  name: string
  path: string
  /** Labels and values of a form that is filled in and sent first. */
  form?: Record<string, string>
  /** Height in pixels; default: that of the viewport. */
  height?: number
}

/** Every screenshot of docs/console.md. */
export function picturesOf({ clientId }: Pick<Client, 'clientId'>): Picture[] {
  const application = `/applications/${clientId}`
  return [
    { name: 'overview', path: '/' },
    { name: 'applications', path: '/applications' },
    { name: 'application', path: application },
    { name: 'suites', path: '/suites' },
    { name: 'secrets', path: '/secrets' },
    { name: 'refusals', path: '/refusals' },
    { name: 'audit', path: '/audit' },
    { name: 'operators', path: '/operators' },
    { name: 'about', path: '/about' },
    // Last, because it changes the data.
    {
      name: 'secret',
      path: '/new-application',
      form: { Name: 'Gift card balance', 'Developer email': 'team@gifts.example' },
    },
  ]
}
