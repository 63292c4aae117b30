import { randomBytes, randomInt } from 'node:crypto'
import { chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DEBIAN_BINARIES } from '../../../test/support/postgres/binaries.ts'
import { USER } from '../../../test/support/postgres/user.ts'

/** Below the range of ports for outgoing connections, so that a restarted member gets its own port again. */
export const PORTS = { postgres: 15432, patroni: 18008, etcd: 12379, etcdPeer: 12380, proxy: 15432 }

/** Where everything of one cluster is: its folder, loopback addresses and passwords. */
export interface Layout {
  folder: string
  /** PostgreSQL's programs. */
  binaries: string
  members: { name: string; address: string }[]
  etcd: string
  proxy: string
  passwords: { superuser: string; replication: string; rewind: string; application: string }
  /** After how many seconds a silent leader loses the leadership. */
  ttl: number
}

/** Plans a cluster in a folder, on addresses of 127/8 that no other run has. */
export function planCluster(folder: string, ttl: number): Layout {
  makeFolder(folder)
  const prefix = `127.${randomInt(1, 255)}.${randomInt(256)}`
  const password = () => randomBytes(16).toString('hex')
  return {
    folder,
    binaries: DEBIAN_BINARIES as string,
    members: [1, 2, 3].map((number) => ({ name: `pg${number}`, address: `${prefix}.${number}` })),
    etcd: `${prefix}.9`,
    proxy: `${prefix}.10`,
    passwords: { superuser: password(), replication: password(), rewind: password(), application: password() },
    ttl,
  }
}

/** A file in the cluster's folder. */
export function inFolder({ folder }: Layout, name: string): string {
  return join(folder, name)
}

/** Makes a folder that belongs to the user who runs PostgreSQL. */
export function makeFolder(folder: string): void {
  mkdirSync(folder, { mode: 0o700 })
  giveToPostgres(folder)
}

/** Gives a file or a folder to the user who runs PostgreSQL. */
export function giveToPostgres(path: string): void {
  if (USER.uid !== undefined && USER.gid !== undefined) chownSync(path, USER.uid, USER.gid)
}
