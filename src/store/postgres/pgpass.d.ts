declare module 'pgpass' {
  type Server = { host: string; port: number; database: string; user: string }

  function pgpass(server: Server, found: (password: string | undefined) => void): void
  namespace pgpass {
    function warnTo(stream: import('node:stream').Writable): void
  }
  export default pgpass
}
