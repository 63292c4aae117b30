/** Why requests are refused, for who has never read the log. Those that are not here say it themselves. */
const WORDS: Record<string, string> = {
  'not a suite': 'It asks for introspection, which only suites may',
  'unknown client': 'Nobody has the client id that was sent',
  'wrong secret': 'The secret that was sent is none of its secrets',
  'expired secret': 'The secret that was sent has ended',
  'revoked secret': 'The secret that was sent was revoked by an operator',
  'suspended application': 'The application is suspended',
  'expired token': 'The token is older than 60 minutes',
  'revoked token': 'The token was revoked',
  'application not approved': 'The application is not approved for the suite',
  'query in the address': 'The address has a query: what follows a “?”',
  'not a form': 'The body is no form: its Content-Type is another one',
  'credentials in a header': 'The credentials are in the Authorization header; they belong in the body',
  'field missing': 'A field of the form is missing',
  'field empty': 'A field of the form is empty',
  'field repeated': 'A field of the form is there twice',
  'credentials given twice': 'The credentials are in the header and in the body',
  'no credentials': 'There are no credentials',
  'unsupported grant type': 'The grant_type is another one than client_credentials',
  'too many failures': 'It sent wrong credentials too often, and has to wait',
  'token quota exceeded': 'It has got all tokens that it may get in this hour',
  'body too large': 'The body is too large',
}

/** A reason of the log in plain words; undefined: there are none but its own. */
export function reasonInWords(reason: string): string | undefined {
  return WORDS[reason]
}
