import type { Application, ApplicationKey, ApplicationNames, NewApplication } from '../../domain/application.ts'
import type { Audit } from '../../domain/audit-event.ts'
import type { NewSecret } from '../../domain/secret.ts'
import type { Registry } from '../../domain/store.ts'
import type { NewSuite, Suite } from '../../domain/suite.ts'
import { ACTIONS, type AuditSubject, ofApplication, ofOwner, ofRegistration, ofSuite } from '../audited.ts'
import type { AuditedChange } from './audit.ts'
import type { Commands } from './commands.ts'
import type { Reads } from './reads.ts'
import * as sql from './statements/registry.ts'
import { arrayOf } from './values.ts'

/** Keys that no row has: ids begin with 1. */
const BEFORE_THE_FIRST = 0
const AFTER_THE_LAST = Number.MAX_SAFE_INTEGER

type NamesRow = [
  key: ApplicationKey,
  clientId: string,
  name: string,
  developerEmail: string,
  status: Application['status'],
]

interface Options {
  reads: Reads
  commands: Commands
  audited: AuditedChange
}

/** The registry in PostgreSQL: applications, suites, their secrets and approvals. */
export function createRegistry({ reads, commands, audited }: Options): Registry {
  async function list<Row>(statement: string, values: unknown[]): Promise<Row[]> {
    const rows = await commands.ask<[json: string]>(statement, values)
    return rows.map(([json]) => JSON.parse(json))
  }

  /** Makes a change of one statement. Resolves to whether that returned a row: whether there was what it is about. */
  const change = (audit: Audit, subjects: AuditSubject[], statement: string, values: unknown[]) =>
    audited(audit, subjects, async (ask) => (await ask(statement, values)).length > 0)

  return {
    findApplication: reads.application,
    findSuite: reads.suite,
    mostImportedSecrets: reads.mostImportedSecrets,
    listApplications: ({ after = BEFORE_THE_FIRST, limit }) => list<Application>(sql.listApplications, [after, limit]),
    listApplicationsOf: (keys) => list<Application>(sql.listApplicationsOf, [arrayOf(keys)]),
    listApprovedApplications: (suiteId, { after = BEFORE_THE_FIRST, limit }) =>
      list<Application>(sql.listApprovedApplications, [suiteId, after, limit]),
    countApproved: async (suiteIds, limit) =>
      (await commands.ask<[count: number]>(sql.countApproved, [suiteIds, limit])).map(([count]) => count),
    listNames: async ({ after = AFTER_THE_LAST, limit }) =>
      (await commands.ask<NamesRow>(sql.listNames, [after, limit])).map(toNames),
    findNamesakes: (names) => list<Application>(sql.findNamesakes, [names]),
    countApplications: () => commands.askNumber(sql.countApplications),
    listSuites: ({ after = BEFORE_THE_FIRST, limit }) => list<Suite>(sql.listSuites, [after, limit]),

    register: ({ suites, applications }, audit) =>
      audited(audit, ofRegistration({ suites, applications }), async (ask) => {
        const addedSuites: NewSuite[] = []
        for (const suite of suites) {
          if ((await ask(sql.insertSuite, suiteValues(suite))).length > 0) addedSuites.push(suite)
        }
        const rows = await ask<[clientId: string]>(sql.insertApplications, [applicationsJson(applications)])
        const added = new Set(rows.map(([clientId]) => clientId))
        // Of those with one client id the first one was added.
        return { suites: addedSuites, applications: applications.filter(({ clientId }) => added.delete(clientId)) }
      }),

    updateApplication: (clientId, { name = null, developerEmail = null }, audit) =>
      change(audit, ofApplication('application updated', clientId), sql.updateApplication, [
        clientId,
        name,
        developerEmail,
      ]),
    setStatus: (clientId, status, audit) =>
      change(audit, ofApplication(ACTIONS[status], clientId), sql.setStatus, [clientId, status]),
    removeApplication: (clientId, audit) =>
      change(audit, ofApplication('application removed', clientId), sql.deleteApplication, [clientId]),
    updateSuite: (suiteId, { name }, audit) =>
      change(audit, ofSuite('suite updated', suiteId), sql.updateSuite, [suiteId, name]),
    removeSuite: (suiteId, audit) => change(audit, ofSuite('suite removed', suiteId), sql.deleteSuite, [suiteId]),
    approve: async (clientId, suiteId, audit) => {
      await change(audit, ofApplication('application approved', clientId), sql.approve, [clientId, suiteId])
    },
    withdraw: async (clientId, suiteId, audit) => {
      await change(audit, ofApplication('approval withdrawn', clientId), sql.withdraw, [clientId, suiteId])
    },
    revokeTokens: (clientId, at, audit) =>
      change(audit, ofApplication('all tokens revoked', clientId), sql.revokeTokens, [clientId, at]),

    addSecret: (owner, secret, audit) =>
      change(audit, ofOwner('secret added', owner), sql.insertSecret, [owner, ...secretValues(secret)]),

    rotateSecret: (owner, secret, endOthersAt, deleteEndedBefore, audit) =>
      audited(audit, ofOwner('secret rotated', owner), async (ask) => {
        await ask(sql.deleteEndedSecrets, [owner, deleteEndedBefore])
        await ask(sql.endSecrets, [owner, endOthersAt])
        return (await ask(sql.insertSecret, [owner, ...secretValues(secret)])).length > 0
      }),

    revokeSecret: (owner, id, at, audit) =>
      change(audit, ofOwner('secret revoked', owner), sql.revokeSecret, [owner, id, at]),

    revokeSpareSecret: (owner, id, at, audit) =>
      change(audit, ofOwner('secret revoked', owner), sql.revokeSpareSecret, [owner, id, at]),
  }
}

function toNames([key, clientId, name, developerEmail, status]: NamesRow): ApplicationNames {
  return { key, clientId, name, developerEmail, status }
}

function applicationsJson(applications: readonly NewApplication[]): string {
  // Null: all suites.
  const rows = applications.map(({ suites, ...rest }, position) => ({
    ...rest,
    position,
    suites: suites === 'all' ? null : suites,
  }))
  return JSON.stringify(rows)
}

function suiteValues({ suiteId, name, createdAt, secret }: NewSuite): unknown[] {
  return [suiteId, name, createdAt, ...secretValues(secret)]
}

function secretValues({ digest, createdAt, endsAt = null }: NewSecret): unknown[] {
  return [digest, createdAt, endsAt]
}
