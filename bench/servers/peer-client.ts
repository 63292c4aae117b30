/** The one client that the peers know. */
export const peerClient = {
  client_id: 'fGRB0YkSebqKmtSvwMb7Sfa1sR97KK3Z',
  client_secret: 'q5u0V7bJmXn2Lr9TzKc4WdYh8GsPf1EaRx6BvNtM',
}

/** How long the peers' tokens live, in seconds, as this server's. */
export const LIFETIME = 3600
