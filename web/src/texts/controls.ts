export const controls = {
  chooseDay: 'Choose a day',
  noDay: 'No day',
  notDay: 'Enter a day such as 2 Dec 2026.',
  dayFrom: (min: string) => `Enter ${min} or a later day.`,
  dayTo: (max: string) => `Enter ${max} or an earlier day.`,
  previousMonth: 'Previous month',
  nextMonth: 'Next month',
  today: 'Today',
  clearDay: 'Clear',
  notTime: 'Enter a time such as 09:30.',
} as const
