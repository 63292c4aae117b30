import type { ListedApplication } from '../../administration/search.ts'
import { HOUR, hourOf } from '../../domain/usage.ts'
import { type Html, html } from '../../web/html.ts'
import { clock } from './components.ts'

/** From this share of a quota on, its bar warns. */
const NEAR = 0.8

/** How much an application has asked for in this clock hour, of its quota. `usual`: that of applications without one of their own. */
export function quotaBar(application: ListedApplication, usual: number | undefined, now: number): Html | undefined {
  const quota = application.quota ?? usual
  if (quota === undefined) return
  const asked = application.issuedThisHour + application.refusedThisHour
  const [near, most] = [Math.floor(quota * NEAR), Math.max(asked, quota)]
  const text = `${asked.toLocaleString('en')} of ${quota.toLocaleString('en')}`
  return html`<meter min="0" low="${near}" high="${quota}" max="${most}" optimum="0" value="${asked}" aria-label="Quota">${text}</meter> ${text} asked for since ${clock(hourOf(now) * HOUR)}; `
}

/** One and a half times an application's quota or, if that is more, what it asked for in an hour lately; rounded up to two digits. */
export function proposedQuota(application: ListedApplication, usual: number | undefined) {
  const { quota, issuedThisHour, refusedThisHour, tokensThisHour, tokensLastHour } = application
  const most = Math.max(quota ?? usual ?? 0, issuedThisHour + refusedThisHour, tokensThisHour, tokensLastHour, 1)
  const enough = most * 1.5
  const unit = 10 ** Math.max(Math.floor(Math.log10(enough)) - 1, 0)
  const proposed = Math.ceil(enough / unit) * unit
  const current = quota ?? (usual === undefined ? 'none' : `${usual.toLocaleString('en')} (TOKEN_QUOTA)`)
  const hint = `Proposal: ${proposed.toLocaleString('en')}, not saved yet. Now: ${current.toLocaleString('en')}.`
  return { quota: String(proposed), hint }
}
