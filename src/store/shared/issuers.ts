import type { Issuer } from '../../domain/federation.ts'
import type { Issuers } from '../../domain/store.ts'
import * as sql from './statements/issuers.ts'
import { type Ask, type Database, toObjects } from './work.ts'

type Row = Omit<Issuer, 'keys'> & { keys: string | null }

export async function listIssuers(ask: Ask, at: number, issuer?: string): Promise<Issuer[]> {
  const rows = await (issuer === undefined ? ask(sql.listIssuers, [at]) : ask(sql.findIssuer, [at, issuer]))
  const issuers = toObjects<Row>(rows, 'issuer', 'keys', 'fetchedAt', 'triedAt', 'answeredAt', 'problem')
  return issuers.map(({ keys, ...rest }) => ({ ...rest, keys: keys === null ? [] : JSON.parse(keys) }))
}

export function createIssuers({ ask, askInBackground }: Database): Issuers {
  return {
    findIssuer: async (issuer, at) => (await listIssuers(ask, at, issuer))[0],
    listIssuers: (at) => listIssuers(askInBackground, at),
    beginFetch: async (issuer, at) => (await ask(sql.beginFetch, [issuer, at])).length > 0,
    endFetch: async (issuer, { at, keys, problem }) =>
      void (await ask(sql.endFetch, [issuer, at, keys && JSON.stringify(keys), problem])),
  }
}
