/** Messages after a form was carried out, by the `done` of the URL. A closed list, so that no link can inject text. */
const DONE = {
  'application-suspended': 'The application is suspended: it gets no tokens, and the tokens that it has are refused.',
  'application-resumed': 'The application is active again.',
  'application-removed': 'The application is removed.',
  'approvals-saved': 'The approvals are saved.',
  'names-saved': 'The changes are saved.',
  'secret-revoked': 'The secret is revoked.',
  'suite-removed': 'The suite is removed.',
  'tokens-revoked': 'All tokens of the application are revoked.',
  'operator-removed': 'The operator is removed, with all keys and sessions.',
  'key-revoked': 'The key is revoked.',
  'session-ended': 'The session has ended.',
} as const

export type Done = keyof typeof DONE

/** The URL to redirect to after a form. The page there shows the message. */
export function donePath(path: string, done: Done): string {
  return `${path}?done=${done}`
}

/** The message for a code from the URL, or undefined. */
export function doneMessage(code: string): string | undefined {
  return Object.hasOwn(DONE, code) ? DONE[code as Done] : undefined
}
