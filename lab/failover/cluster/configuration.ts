import { writeFileSync } from 'node:fs'
import { giveToPostgres, inFolder, type Layout, makeFolder, PORTS } from './layout.ts'

/** Writes Patroni's configuration for one member, as JSON, which is valid YAML. Returns the file. */
export function writePatroniConfiguration(
  layout: Layout,
  { name, address }: { name: string; address: string },
): string {
  const { binaries, etcd, passwords, ttl } = layout
  const sockets = inFolder(layout, `${name}-socket`)
  makeFolder(sockets)
  const file = inFolder(layout, `${name}.yml`)
  const at = (port: number) => ({ listen: `${address}:${port}`, connect_address: `${address}:${port}` })
  const configuration = {
    scope: 'token-server',
    name,
    restapi: at(PORTS.patroni),
    // Version 2 of the protocol: with version 3, Patroni 3.0.2 takes back a leadership that it has lost.
    etcd: { host: `${etcd}:${PORTS.etcd}` },
    bootstrap: {
      dcs: {
        ttl,
        ...(ttl < 20 ? { loop_wait: 1, retry_timeout: 2 } : { loop_wait: 2, retry_timeout: 5 }),
        primary_start_timeout: 0,
        synchronous_mode: true,
        synchronous_mode_strict: true,
        failsafe_mode: true,
        postgresql: { use_pg_rewind: true, parameters: PARAMETERS },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'no-sync'],
    },
    postgresql: {
      ...at(PORTS.postgres),
      data_dir: inFolder(layout, name),
      bin_dir: binaries,
      pgpass: inFolder(layout, `${name}.pgpass`),
      use_unix_socket: true,
      authentication: {
        superuser: { username: 'postgres', password: passwords.superuser },
        replication: { username: 'replication', password: passwords.replication },
        rewind: { username: 'rewind', password: passwords.rewind },
      },
      parameters: { unix_socket_directories: sockets },
      pg_hba: [
        'local all all trust',
        'host replication replication 127.0.0.0/8 scram-sha-256',
        'host all all 127.0.0.0/8 scram-sha-256',
      ],
    },
  }
  writeFileSync(file, JSON.stringify(configuration, null, 2), { mode: 0o600 })
  giveToPostgres(file)
  return file
}

const PARAMETERS = {
  max_connections: 60,
  wal_log_hints: 'on',
  // A kill leaves nothing behind in /dev/shm.
  dynamic_shared_memory_type: 'mmap',
  synchronous_commit: 'on',
  shared_buffers: '32MB',
  wal_retrieve_retry_interval: '500ms',
  wal_sender_timeout: '5s',
  wal_receiver_timeout: '5s',
}

/** Writes HAProxy's configuration: one port that leads to the primary. Returns the file. */
export function writeProxyConfiguration(layout: Layout): string {
  const file = inFolder(layout, 'haproxy.cfg')
  const servers = layout.members.map(({ name, address }) => `  server ${name} ${address}:${PORTS.postgres}`)
  const text = `defaults
  mode tcp
  timeout connect 1s
  timeout client 1h
  timeout server 1h
  timeout check 1s
  default-server check port ${PORTS.patroni} inter 1s fastinter 300ms downinter 300ms fall 2 rise 1 on-marked-down shutdown-sessions
listen primary
  bind ${layout.proxy}:${PORTS.proxy}
  option httpchk
  http-check send meth OPTIONS uri /read-write
${servers.join('\n')}
`
  writeFileSync(file, text)
  giveToPostgres(file)
  return file
}
