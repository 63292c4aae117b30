import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { OperatorError } from '../../domain/operator-error.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/administration.ts'
import { idOf } from '../wire/id.ts'
import { OVERLAPS, type Rotation } from './components/rotation.ts'
import { introspectionCommand, tryIt } from './components/try-it.ts'
import { donePath } from './done.ts'
import { fieldsOf } from './fields.ts'
import { statusOf } from './form-errors.ts'
import { path } from './html.ts'
import { idempotencyOf } from './idempotency.ts'
import type { Section } from './layout.ts'
import { newSecretPage } from './new-secret-page.ts'
import { showPage } from './page.ts'
import { settingOf } from './settings.ts'

/** How applications or suites are found and shown. */
export interface Owners {
  section: Extract<Section, '/applications' | '/suites'>
  /** Throws OperatorError if the id does not exist, or belongs to the other kind. */
  find: (id: string, request: FastifyRequest) => Promise<{ name: string; suites?: readonly string[] }>
  /** Shows the page again, with the error. */
  show: (
    id: string,
    reply: FastifyReply,
    again: { rotation?: Rotation; problem?: string; status: number },
  ) => Promise<FastifyReply>
}

const HOUR_MS = 3_600_000

/** 365 days, as on the command line. */
const MAX_HOURS = 8760

/** Handles the forms that rotate and revoke secrets. */
export function changeSecrets(console: FastifyInstance, context: AdminContext, owners: Owners): void {
  const { now } = context
  const { section, find, show } = owners
  const publicUrl = settingOf(context, 'PUBLIC_URL')

  console.post<{ Params: { id: string } }>(`${section}/:id/secrets`, async (request, reply) => {
    const { id } = request.params
    const { name: ownerName, suites } = await find(id, request)
    const fields = fieldsOf(request.body)
    const form = {
      requestKey: fields.text('request_key'),
      overlap: fields.text('overlap'),
      hours: fields.text('hours'),
    }
    const overlap = overlapOf(form)
    if (overlap === undefined) {
      const error = { field: 'hours', message: `It must be a whole number of hours: 1 to ${MAX_HOURS}.` }
      return show(id, reply, { rotation: { ...form, error }, status: 422 })
    }
    const { secrets } = administrationOf(context, request)
    try {
      const made = await secrets.rotate(id, overlap, { idempotency: idempotencyOf(request) })
      const client = { clientId: id, clientSecret: made.clientSecret, publicUrl }
      const use = suites ? tryIt({ ...client, suites }) : introspectionCommand(client)
      const base = `${section}${path`/${id}`}`
      return showPage(reply, newSecretPage({ owner: id, ownerName, base, section, use, now: now(), ...made }))
    } catch (error) {
      if (!(error instanceof OperatorError) || error.kind !== 'idempotency key reused') throw error
      return show(id, reply, { problem: error.message, status: statusOf(error) })
    }
  })

  console.post<{ Params: { id: string; secret_id: string } }>(
    `${section}/:id/secrets/:secret_id/revoke`,
    async (request, reply) => {
      const { id, secret_id } = request.params
      await find(id, request)
      const force = fieldsOf(request.body).text('force') === 'yes'
      const { secrets } = administrationOf(context, request)
      try {
        await secrets.revoke(id, idOf(secret_id), { force })
      } catch (error) {
        if (!(error instanceof OperatorError) || error.kind !== 'conflict') throw error
        return show(id, reply, { problem: error.message, status: statusOf(error) })
      }
      return reply.redirect(donePath(`${section}${path`/${id}`}`, 'secret-revoked'), 303)
    },
  )
}

/** How long previous secrets stay valid, in milliseconds. Hours take precedence. Undefined if invalid. */
function overlapOf({ overlap, hours }: Pick<Rotation, 'overlap' | 'hours'>): number | undefined {
  if (hours === '') return OVERLAPS.some(({ value }) => value === overlap) ? Number(overlap) * 1000 : undefined
  const count = /^\d{1,5}$/.test(hours) ? Number(hours) : 0
  return count >= 1 && count <= MAX_HOURS ? count * HOUR_MS : undefined
}
