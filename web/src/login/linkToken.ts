import { useEffect, useState } from 'react'

/** Reads the token from the URL fragment, which isn't sent to servers, and removes it from the address. */
export function useLinkToken(): string {
  const [token] = useState(() => location.hash.slice(1))
  useEffect(() => {
    if (location.hash) history.replaceState(history.state, '', location.pathname)
  }, [])
  return token
}
