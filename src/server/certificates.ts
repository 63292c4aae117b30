import { type Config, certificateFiles } from '../config.ts'
import type { CertifiedListener, Observer } from '../domain/events.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { CERTIFICATE_ENDS_MS } from '../domain/statistics.ts'
import { type Clock, timestamp } from '../domain/time.ts'
import { DAY } from '../domain/usage.ts'
import { type Certificate, type CertificateFiles, readCertificate, withTicketKeys } from '../listener/certificate.ts'
import type { Tls } from '../listener/tls.ts'
import { startLoop } from './loops.ts'

const INTERVAL_MS = 5000

export type Certificates = Awaited<ReturnType<typeof openCertificates>>

/** Reads the certificates of all listeners, and again when their files change, until it is stopped. Throws OperatorError. */
export async function openCertificates(
  config: Config,
  { observe, now = Date.now, interval = INTERVAL_MS }: { observe: Observer; now?: Clock; interval?: number },
) {
  const files = Object.entries(certificateFiles(config)) as [CertifiedListener, CertificateFiles | undefined][]
  const kept = await Promise.all(
    files.flatMap(([listener, files]) => (files ? keepCertificate(listener, files, { observe, now }) : [])),
  )
  let last: Promise<unknown> = Promise.resolve()
  // One after the other, or a signal while the files are read would report a change twice.
  const check = (isSettled: boolean): Promise<unknown> => {
    last = last.then(() => Promise.all(kept.map((one) => one.check(isSettled))))
    return last
  }
  const look = () => check(false).then(() => interval)
  const loop = kept.length === 0 ? undefined : startLoop(look, { delay: interval, ref: false })
  const of = (listener: CertifiedListener) => kept.find((one) => one.listener === listener)
  return {
    /** What this listener shows its clients; undefined if it speaks plain HTTP. */
    tlsOf: (listener: CertifiedListener): (() => Tls) | undefined => of(listener)?.tls,
    public: of('public'),
    list: () => kept.map(({ listener, state }) => ({ listener, ...state() })),
    reload: () => check(true),
    stop: async () => void (await loop?.stop()),
  }
}

/** Keeps the last certificate of a listener that could be used. */
async function keepCertificate(
  listener: CertifiedListener,
  files: CertificateFiles,
  { observe, now }: { observe: Observer; now: Clock },
) {
  let current = await readCertificate(files, now())
  let onUse: ((certificate: Certificate) => void) | undefined
  let problem: string | undefined
  let doubt: string | undefined
  let warnedAt = Number.NEGATIVE_INFINITY

  /** `isSettled`: no other file will follow. A renewal replaces them one by one, so what is wrong may be right a moment later. */
  async function check(isSettled: boolean): Promise<void> {
    const found = await readCertificate(files, now(), current).catch((error: OperatorError) => error)
    if (found instanceof OperatorError) refuse(found.message, isSettled)
    else if (found !== current || problem !== undefined) use(found)
    else doubt = undefined
    // Who learns the keys of tickets can read the sessions that they resume, so none are used for long.
    if (now() - current.keyedAt >= DAY) show({ ...current, ...withTicketKeys(current.files, now()) })
    if (current.endsAt - now() < CERTIFICATE_ENDS_MS && now() - warnedAt >= DAY) {
      warnedAt = now()
      observe({ type: 'certificate ends', listener, endsAt: timestamp(current.endsAt) })
    }
  }

  function refuse(reason: string, isSettled: boolean): void {
    if ((isSettled || reason === doubt) && reason !== problem) {
      problem = reason
      observe({ type: 'certificate refused', listener, problem })
    }
    doubt = reason
  }

  function use(found: Certificate): void {
    show(found)
    problem = undefined
    doubt = undefined
    warnedAt = Number.NEGATIVE_INFINITY
    observe({ type: 'certificate loaded', listener, endsAt: timestamp(current.endsAt) })
  }

  function show(certificate: Certificate): void {
    current = certificate
    onUse?.(current)
  }

  return {
    listener,
    tls: () => current.tls,
    /** `problem`: why the files have another certificate that cannot be used. */
    state: () => ({ endsAt: current.endsAt, problem }),
    check,
    /** Calls back with the certificate that is used, now and after each change. */
    follow(listen: (certificate: Certificate) => void): void {
      onUse = listen
      listen(current)
    },
  }
}
