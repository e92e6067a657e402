// The icons: 16 by 16 with strokes of 1.5, sized for 13 px text.
const shapes = {
  now: 'M8 2v2M8 12v2M2 8h2M12 8h2M8 5.2v3l2 1.3',
  inbox: 'M2.5 9.5l2-6h7l2 6v3.5h-11zM2.5 9.5H6c.3 1.3 1 2 2 2s1.7-.7 2-2h3.5',
  tasks: 'M2.5 3h3.2v10H2.5zM6.9 3h3.2v6.5H6.9zM11.3 3h2.2v8h-2.2z',
  agents:
    'M6 7.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4M2 13c.3-2.4 1.8-3.7 4-3.700s3.7 1.3 4 3.700M10.5 3.200a2 2 0 0 1 0 3.800M11.5 9.500c1.5.4 2.3 1.6 2.5 3.5',
  sessions: 'M2 8h2.500l1.5-4 3 8 1.5-4H14',
  standups: 'M2.5 3h8v5.500h-4L4 10.500v-2H2.500zM12 6h1.500v5H12v2l-2.3-2H7.5',
  schedules: 'M2.5 4h11v9.500h-11zM2.5 6.800h11M5.3 2.500V5M10.7 2.500V5M8 8.500v2l1.3.8',
  spend: 'M3 13V8.500M6.3 13V4M9.7 13V6.500M13 13V2.5',
  settings: 'M2.5 4.500h5M10.5 4.500h3M2.5 11.500h2.500M8 11.500h5.500M9 3v3M6.5 10v3',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  search: 'M7 11.500a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9M10.3 10.300l3.2 3.2',
  plus: 'M8 3v10M3 8h10',
  close: 'M4 4l8 8M12 4l-8 8',
  checks: 'M1.5 8.800l2.800 2.800L9.800 5M7.200 10.800l.900.800L14.500 5',
  check: 'M3 8.500l3.2 3.200L13 4.7',
  chevron: 'M4.5 6.200L8 9.700l3.5-3.5',
  left: 'M9.8 4.500L6.3 8l3.5 3.5',
  right: 'M6.3 4.500L9.8 8l-3.5 3.5',
  up: 'M8 13V3.500M4.3 7.200L8 3.500l3.7 3.7',
  down: 'M8 3v9.500M4.3 8.800L8 12.500l3.7-3.7',
  warning: 'M8 2.500l6 10.800H2zM8 6.500v3M8 11.400h.01',
  error: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M8 5v3.500M8 10.900h.01',
  info: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M8 7.500V11M8 5.100h.01',
  blocked: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M3.8 3.800l8.4 8.4',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M8 4.800V8l2.2 1.5',
  link: 'M6.7 9.300l2.6-2.600M7.3 5l1.5-1.500a2.6 2.6 0 0 1 3.7 3.700L11 8.700M8.7 11l-1.5 1.500a2.6 2.6 0 0 1-3.7-3.700L5 7.3',
  comment: 'M2.5 3h11v7.500H8L4.8 13v-2.500H2.500z',
  user: 'M8 7.500a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M3 13.500c.4-2.7 2.2-4 5-4s4.6 1.3 5 4',
  sun: 'M8 10.800a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.600M8 1.500v1.300M8 13.200v1.300M1.5 8h1.300M13.2 8h1.300M3.4 3.400l.9.9M11.7 11.700l.9.9M12.6 3.400l-.9.9M4.3 11.700l-.9.9',
  moon: 'M13 9.500A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.500z',
  screen: 'M2 3h12v8H2zM6 13.500h4',
  out: 'M6.5 2.500h-4v11h4M10.5 5L13.5 8l-3 3M13.3 8H6',
  eye: 'M1.5 8C3 5 5.3 3.5 8 3.500S13 5 14.5 8C13 11 10.7 12.5 8 12.500S3 11 1.5 8M8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4',
  keyboard: 'M1.5 4h13v8h-13zM4 6.500h.01M6.7 6.500h.01M9.3 6.500h.01M12 6.500h.01M5 9.500h6',
  board: 'M2.5 3h3.200v10H2.500zM6.9 3h3.200v10H6.900zM11.3 3h2.200v10h-2.200z',
  table: 'M2.5 3h11v10h-11zM2.5 6.300h11M2.5 9.700h11M6 6.300V13',
  equal: 'M3.5 6h9M3.5 10h9',
  flag: 'M4 14V2.500h8.500l-2 3 2 3H4',
  bookmark: 'M4 2.500h8v11l-4-3-4 3z',
  log: 'M3 4h.01M6 4h7.500M3 8h.01M6 8h7.500M3 12h.01M6 12h7.500',
  sleep: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M5.5 8h5',
  pulse: 'M8 8h.01',
  play: 'M5 3.200v9.600L12.500 8z',
  stop: 'M4.500 4.500h7v7h-7z',
  pause: 'M5.500 3.500v9M10.500 3.500v9',
  off: 'M8 13a5 5 0 1 0 0-10 5 5 0 0 0 0 10',
  copy: 'M5.5 5.500h8v8h-8zM10.5 5.500v-3h-8v8h3',
  archive: 'M2 3h12v3H2zM3 6v7h10V6M6.5 8.500h3',
  reload: 'M13 8a5 5 0 1 1-1.5-3.600L13 6M13 2.500V6H9.5',
  dependency:
    'M4 5.500a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3M12 13.500a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3M4 5.500V12h6.5',
  pencil: 'M3 13l.6-2.8L10.8 3l2.2 2.200L5.8 12.400zM9.3 4.500l2.2 2.2',
  filter: 'M2 3.500h12L9.5 9v4l-3-1.500V9z',
} as const

/** The diameters of the dots in icons that are made of dots. */
const dots: Partial<Record<IconName, number>> = { more: 2.4, pulse: 8 }

export type IconName = keyof typeof shapes

/** A decorative icon, hidden from screen readers. */
export function Icon({ name, className = '' }: { name: IconName; className?: string }) {
  return (
    <svg
      aria-hidden="true"
      className={`size-4 shrink-0 ${className}`}
      fill="none"
      focusable="false"
      stroke="currentColor"
      strokeLinecap="round"
      strokeLinejoin="round"
      strokeWidth={dots[name] ?? 1.5}
      viewBox="0 0 16 16"
    >
      <path d={shapes[name]} />
    </svg>
  )
}
