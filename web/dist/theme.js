// Runs before the first paint, so that a dark screen doesn't flash white. A separate file, because the content security
// policy forbids inline scripts. src/app/view.ts writes the setting.
;(() => {
  // With a proxy's password in the address, scripts would be loaded twice, under addresses with and without it, and
  // requests would be forbidden. The browser has remembered the password, so the address doesn't need it.
  const here = new URL(document.baseURI)
  if (here.username || here.password) {
    here.username = here.password = ''
    location.replace(here)
    return
  }
  let chosen = 'system'
  try {
    // Below a path, such as /wardroom, the name has that path. src/app/base.ts does the same.
    const base = new URL('.', document.currentScript.src).pathname.slice(0, -1)
    const name = base ? `wardroom.view ${base}` : 'wardroom.view'
    chosen = JSON.parse(localStorage.getItem(name) ?? '{}').theme ?? 'system'
  } catch {
    // Storage is blocked or damaged: use the system's theme.
  }
  const dark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
})()
