import type { Administration } from '../../administration/administration.ts'

export interface Credentials {
  clientId: string
  clientSecret: string
}

export interface DemoWorld {
  /** For the user to try; the simulated traffic does not use it. */
  application: Credentials
  /** For the simulated traffic, by what happens to their requests. */
  partners: {
    busy: Credentials[]
    notApproved: Credentials
    suspended: Credentials
    wrongSecret: Credentials & { rightSecret: string }
  }
}

const DEVELOPER = 'developer@demo.example'

/** Registers suites, an application to try, and partners, some of which are refused. */
export async function createDemoWorld({ applications, suites }: Administration): Promise<DemoWorld> {
  await suites.register({ suiteId: 'store', name: 'Store API' })
  await suites.register({ suiteId: 'invoices', name: 'Invoice API' })
  const busy = [
    await register('Warehouse scanner', 'warehouse@partner-one.example'),
    await register('Price comparison', 'prices@partner-two.example'),
    await register('Parcel tracking', 'parcels@partner-three.example'),
  ]
  const notApproved = await register('Returns desk', 'returns@partner-four.example', ['store'])
  const suspended = await register('Old stock import', 'import@partner-two.example')
  await applications.suspend(suspended.clientId)
  const { clientId, clientSecret: rightSecret } = await register('Nightly report', 'reports@partner-five.example')
  const wrongSecret = { clientId, clientSecret: 'a secret that was cut off', rightSecret }
  const application = await register('Demo application (for you to try)', DEVELOPER)
  return { application, partners: { busy, notApproved, suspended, wrongSecret } }

  async function register(name: string, developerEmail: string, approved?: string[]): Promise<Credentials> {
    const registered = await applications.register({ name, developerEmail, ...(approved && { suites: approved }) })
    return { clientId: registered.clientId, clientSecret: registered.clientSecret as string }
  }
}
