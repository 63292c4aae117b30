import {
  appendFile,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { OperatorError } from '../domain/operator-error.ts'
import type { Journal } from './apply-server.ts'
import type { Terminal } from './shared/terminal.ts'

const { O_RDONLY, O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants

/** A terminal whose output is appended to a file that only its owner can read; for `-`, the same terminal. Throws OperatorError. */
export function outputTo(terminal: Terminal, place: string): Terminal {
  const descriptor = descriptorOf(place)
  if (descriptor === 1) return terminal
  // The file stays open until the process ends.
  const file = descriptor ?? openOwn(place, O_WRONLY | O_APPEND | O_CREAT)
  const stats = explained(() => fstatSync(file))
  const flush = stats.isFile()
  // If a run was killed, the last line may be incomplete.
  if (flush && stats.size > 0) explained(() => writeSync(file, '\n'))
  const write: Terminal['stdout']['write'] = (data, done) => appendFile(file, data, { flush }, (error) => done?.(error))
  return { ...terminal, stdout: { write } }
}

/** Keeps the request for a secret next to the file that the secret goes to; undefined if that is not a regular file. */
export function journalBeside(place: string): Journal | undefined {
  const isFile = explained(() => statSync(place, { throwIfNoEntry: false })?.isFile() ?? true)
  if (!isFile || descriptorOf(place) !== undefined) return undefined
  const journal = `${place}.pending`
  return {
    place: journal,
    read: () => statSync(journal, { throwIfNoEntry: false }) && readFileSync(openOwn(journal, O_RDONLY), 'utf8'),
    begin(request) {
      rmSync(journal, { force: true })
      explained(() => writeFileSync(journal, request, { flag: 'wx', mode: 0o600, flush: true }), 'It was not asked for')
    },
    end: () => rmSync(journal, { force: true }),
  }
}

/** The descriptor that `-` or a link such as /dev/stdout leads to, or `>(…)` of a shell: whoever started this process has opened it. */
function descriptorOf(place: string): number | undefined {
  const [, number] = /^\/(?:dev|proc\/self)\/fd\/(\d+)$/.exec(place) ?? []
  return number === undefined ? { '-': 1, '/dev/stdout': 1, '/dev/stderr': 2 }[place] : Number(number)
}

/**
 * Opens a file. Throws OperatorError if that fails, or if it is a link, belongs to another user, or has a second name: others
 * could have put it into a shared folder.
 */
function openOwn(place: string, flags: number): number {
  return explained(() => {
    // Without O_NONBLOCK, a pipe that nobody reads would be waited for; with it, a slow reader would lose what is written.
    const probe = openSync(place, flags | O_NOFOLLOW | O_NONBLOCK, 0o600)
    const file = openSync(place, flags | O_NOFOLLOW, 0o600)
    closeSync(probe)
    const stats = fstatSync(file)
    if (!stats.isCharacterDevice() && (stats.uid !== process.geteuid?.() || stats.nlink > 1)) {
      throw new Error(`${place} belongs to another user, or has another name (a hard link)`)
    }
    if (stats.isFile()) fchmodSync(file, 0o600)
    return file
  })
}

/** Throws OperatorError if a system call fails. `effect` says what that means. */
function explained<Result>(call: () => Result, effect = 'Nothing was changed'): Result {
  try {
    return call()
  } catch (error) {
    const { code, message, path } = error as NodeJS.ErrnoException
    const reasons: Record<string, string> = {
      ELOOP: `${path} is a symbolic link`,
      ENXIO: `${path} is a pipe that nobody reads, or a socket`,
    }
    throw new OperatorError(`${effect}: ${reasons[code ?? ''] ?? message}.`, { cause: error })
  }
}
