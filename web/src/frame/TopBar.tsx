import { useLocation } from '@tanstack/react-router'
import { places } from '../app/places'
import { texts } from '../texts'
import { Icon } from '../ui/Icon'
import { ConnectionStatus } from './ConnectionStatus'
import { SpendToday } from './SpendToday'
import { UserMenu } from './UserMenu'

/** The symbol of the modifier key. */
const mod = typeof navigator !== 'undefined' && /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘' : 'Ctrl'

/** Page title, search, today's spend, connection status, and the user menu. */
export function TopBar({ onSearch, onKeys }: { onSearch: () => void; onKeys: () => void }) {
  const path = useLocation({ select: l => l.pathname })
  const place = places.find(p => (p.path === '/' ? path === '/' : path.startsWith(p.path)))
  return (
    // The two sides are equally wide, so that the search stays in place.
    <header className="grid h-11 shrink-0 grid-cols-[minmax(0,1fr)_auto_auto] items-center gap-2 border-line border-b px-3 lg:grid-cols-[minmax(0,1fr)_18rem_minmax(0,1fr)]">
      <h1 className="truncate font-semibold text-base">
        {place ? texts.app.places[place.id] : path === '/welcome' ? texts.app.firstSteps : texts.app.name}
      </h1>
      <div className="flex">
        <button
          className="flex h-8 w-9 items-center justify-center gap-2 rounded-md border border-transparent px-2 text-soft hover:text-ink sm:w-72 sm:justify-start sm:border-line-strong sm:bg-panel"
          onClick={onSearch}
          type="button"
        >
          <Icon name="search" />
          <span className="sr-only grow text-left sm:not-sr-only sm:truncate sm:whitespace-nowrap">
            {texts.app.palette.open}
          </span>
          <kbd className="hidden shrink-0 whitespace-nowrap font-mono text-xs sm:inline pointer-coarse:hidden!">
            {mod === '⌘' ? '⌘K' : 'Ctrl K'}
          </kbd>
        </button>
      </div>
      <div className="flex min-w-0 items-center justify-end gap-1 sm:gap-2">
        <SpendToday />
        <ConnectionStatus />
        <UserMenu onKeys={onKeys} />
      </div>
    </header>
  )
}
