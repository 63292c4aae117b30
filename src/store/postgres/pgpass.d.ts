declare module 'pgpass' {
  type Server = { host: string; port: number; database: string; user: string }

  /** Finds the password of a server in the password file of PGPASSFILE, or in ~/.pgpass. */
  function pgpass(server: Server, found: (password: string | undefined) => void): void
  namespace pgpass {
    /** Sets where warnings about the file go. */
    function warnTo(stream: import('node:stream').Writable): void
  }
  export default pgpass
}
