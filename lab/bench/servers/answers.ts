// Constant answers, as long as this server's own.

export const application = {
  application_name: 'Application 12345',
  'developer.email': 'dev@partner.example',
  client_id: 'fGRB0YkSebqKmtSvwMb7Sfa1sR97KK3Z',
}
const tokenId = '019a00e0-8a91-72d3-b1ea-bdd89da0c4e5'

export const token = {
  ...application,
  access_token: 'AaH8MKAkc-eG5SXJZtAxxE4ZcfyTNyq2hDRERSpZ1rJiBFo-xPkZJAID5jwRdAGJ',
  token_type: 'bearer',
  expires_in: 3599,
  scope: '',
  issued_at: '1795232407588',
}

export const introspection = {
  ...application,
  active: true,
  sub: application.client_id,
  aud: 'store',
  iss: 'http://localhost:12345',
  jti: tokenId,
  token_type: 'bearer',
  iat: 1795232407,
  exp: 1795236007,
}

export const verified = {
  'x-client-id': application.client_id,
  'x-application-name': 'Application%2012345',
  'x-developer-email': application['developer.email'],
  'x-token-id': tokenId,
  'x-token-expires': '1795236007',
}
