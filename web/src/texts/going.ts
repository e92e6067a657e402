// Of two places, so that neither loads the sentences of the other.
export const going = {
  soFar: 'so far in',
  runs: (n: number) => (n === 1 ? '1 run that goes on' : `${n} runs that go on`),
  ago: 'ago',
  help: 'A run is counted when it has ended. What it has used until then is read every 20 seconds.',
}
