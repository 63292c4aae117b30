declare module 'pgpass' {
  import type { Writable } from 'node:stream'

  interface Server {
    host: string
    port: number
    database: string
    user: string
  }

  /** Finds the password of a server in the password file of PGPASSFILE, or in ~/.pgpass. */
  function pgpass(server: Server, found: (password: string | undefined) => void): void
  namespace pgpass {
    /** Where it says that the file is not to be trusted. */
    function warnTo(stream: Writable): void
  }
  export default pgpass
}
