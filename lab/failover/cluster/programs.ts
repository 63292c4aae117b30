import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { DEBIAN_BINARIES } from '../../../test/support/postgres/binaries.ts'

/** Debian keeps haproxy in /usr/sbin, which is not in every user's PATH. */
export const PATH = [process.env.PATH, '/usr/local/sbin', '/usr/sbin', '/sbin'].join(delimiter)

const PACKAGES = {
  etcd: 'etcd-server',
  patroni: 'patroni',
  patronictl: 'patroni',
  haproxy: 'haproxy',
}

/** The Debian packages that the cluster needs and that are not installed. */
export function missingPackages({ withProxy }: { withProxy: boolean }): string[] {
  const needed = Object.entries(PACKAGES).filter(([program]) => withProxy || program !== 'haproxy')
  const missing = needed.filter(([program]) => !isInstalled(program)).map(([, name]) => name)
  return [...new Set([...missing, ...(DEBIAN_BINARIES ? [] : ['postgresql'])])]
}

function isInstalled(program: string): boolean {
  return PATH.split(delimiter).some((folder) => existsSync(join(folder, program)))
}
