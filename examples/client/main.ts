import { createClient } from './client.ts'

// From the environment and not from arguments, which every user of the machine can read.
const { AUTH_URL, CLIENT_ID, CLIENT_SECRET, API_URL } = process.env
if (!AUTH_URL || !CLIENT_ID || !CLIENT_SECRET || !API_URL) {
  throw new Error('AUTH_URL, CLIENT_ID, CLIENT_SECRET and API_URL must be set')
}
const client = createClient({ authUrl: AUTH_URL, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET })

try {
  const response = await client.request(API_URL)
  console.log(response.status, await response.text())
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}
