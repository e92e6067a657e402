/**
 * The path below which the server is reachable, such as `/wardroom`, or empty at the root. The built files are in
 * `assets` below it.
 */
export const base = import.meta.env.PROD ? new URL(/* @vite-ignore */ '..', import.meta.url).pathname.slice(0, -1) : ''

const isBelow = (path: string): boolean => path === base || path.startsWith(`${base}/`)

/**
 * The path before those of the pages. Empty also if the browser reached the server directly, past the proxy that serves
 * it below a path.
 */
export const home = typeof location !== 'undefined' && isBelow(location.pathname) ? base : ''

/** Returns the address of the page on the screen without `home`, such as `/tasks?view=table`. */
export const pageHere = (): string => (location.pathname.slice(home.length) || '/') + location.search

/**
 * Returns the name under which the browser stores something. Several Wardrooms below different paths of a host share
 * the browser's storage, so the name has the path.
 */
export const storedName = (name: string): string => (base ? `${name} ${base}` : name)
