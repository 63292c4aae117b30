/** Explanations of the reasons in the log. Reasons that need no explanation are left out. */
const WORDS: Record<string, string> = {
  'not a suite': 'Only suites may use introspection',
  'unknown client': 'No application or suite has this client id',
  'wrong secret': 'The secret does not match',
  'expired secret': 'The secret has expired',
  'revoked secret': 'The secret was revoked',
  'suspended application': 'The application is suspended',
  'expired token': 'The token is older than 60 minutes',
  'revoked token': 'The token was revoked',
  'application not approved': 'The application is not approved for the suite',
  'query in the address': 'The address has a query, the part after “?”',
  'not a form': 'The body is not a form: wrong Content-Type',
  'credentials in a header': 'The credentials are in the Authorization header, but belong in the body',
  'field missing': 'A field of the form is missing',
  'field empty': 'A field of the form is empty',
  'field repeated': 'A field of the form is sent twice',
  'credentials given twice': 'The credentials are in the header and in the body',
  'no credentials': 'There are no credentials',
  'unsupported grant type': 'The grant_type is not client_credentials',
  'too many failures': 'Too many wrong credentials: wait and try again',
  'token quota exceeded': 'The quota of tokens for this hour is used up',
  'body too large': 'The body is too large',
}

/** The explanation of a reason in the log, or undefined. */
export function reasonInWords(reason: string): string | undefined {
  return WORDS[reason]
}
