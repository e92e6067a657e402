// Runs before the first paint, so that a dark screen does not flash white. It is
// a file of its own because the policy of the page allows no inline script.
// What it reads is written in src/app/theme.ts.
;(() => {
  let chosen = 'system'
  try {
    chosen = JSON.parse(localStorage.getItem('wardroom.view') ?? '{}').theme ?? 'system'
  } catch {
    // Storage that is forbidden or damaged leaves the system's choice.
  }
  const dark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
})()
