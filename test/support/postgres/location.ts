import { type PostgresLocation, parseDatabaseUrl } from '../../../src/domain/database-location.ts'

/** Where the database of a URL is, as the program reads it. */
export const locationOf = (url: string) => parseDatabaseUrl(url) as PostgresLocation
