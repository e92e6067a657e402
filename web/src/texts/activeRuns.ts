// These texts have their own file, because two pages use them and neither should load the other's texts.
export const activeRuns = {
  soFar: 'so far in',
  // Without a number: a run counts only once it has used something.
  runs: 'active runs',
  includes: 'Includes',
  help: 'Usage of active runs, updated within seconds. CSV files have a run when it ends.',
}
