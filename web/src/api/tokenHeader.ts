/**
 * The request header with the token. The Authorization header is left to proxies: with Basic authentication, the browser
 * fills it in itself.
 */
export const tokenHeader = 'X-Wardroom-Token'
