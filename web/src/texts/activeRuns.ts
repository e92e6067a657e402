// These texts have their own file, because two pages use them and neither should load the other's texts.
export const activeRuns = {
  soFar: 'so far in',
  runs: (n: number) => (n === 1 ? '1 active run' : `${n} active runs`),
  ago: 'ago',
  help: 'Usage of active runs, updated every 20 seconds. A run is added to the total when it ends.',
}
