import { Link, Outlet, useLocation } from '@tanstack/react-router'
import { leads, useMe } from '../app/queries'
import { useTitle } from '../app/title'
import { settings as words } from '../texts/settings'
import { Icon, type IconName } from '../ui/Icon'

type PartId = keyof typeof words.parts

const parts: readonly { id: PartId; to: `/settings/${PartId}`; icon: IconName; all?: true }[] = [
  { id: 'account', to: '/settings/account', icon: 'user', all: true },
  { id: 'users', to: '/settings/users', icon: 'agents' },
  { id: 'agents', to: '/settings/agents', icon: 'dependency' },
  { id: 'gateway', to: '/settings/gateway', icon: 'link', all: true },
  { id: 'projects', to: '/settings/projects', icon: 'tasks', all: true },
  { id: 'teams', to: '/settings/teams', icon: 'standups', all: true },
  { id: 'retention', to: '/settings/retention', icon: 'archive' },
  { id: 'audit', to: '/settings/audit', icon: 'eye' },
  { id: 'health', to: '/settings/health', icon: 'sessions', all: true },
]

/** The layout of Settings, with a menu beside the open page. On a phone they are separate. */
export function SettingsLayout() {
  const path = useLocation({ select: l => l.pathname.replace(/\/$/, '') })
  return (
    <div className="md:flex">
      <nav
        aria-label={words.title}
        className={`hidden w-48 shrink-0 self-start p-3 ${path === '/settings' ? '' : 'md:sticky md:top-0 md:block'}`}
      >
        <ul className="flex flex-col gap-0.5">
          {parts.map(p => (
            <li key={p.id}>
              <Link
                aria-current={path === p.to ? 'page' : undefined}
                className={`flex h-8 items-center gap-2.5 rounded-md px-2 ${path === p.to ? 'bg-accent-tint font-medium text-accent' : 'text-soft hover:bg-hover hover:text-ink'}`}
                to={p.to}
              >
                <Icon name={p.icon} />
                {words.parts[p.id].name}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <div className="min-w-0 max-w-page grow px-3 pt-3 pb-12 md:px-5">
        {path !== '/settings' && (
          <Link className="mb-2 inline-flex h-9 items-center gap-1 text-soft hover:text-ink md:hidden" to="/settings">
            <Icon name="left" />
            {words.back}
          </Link>
        )}
        <Outlet />
      </div>
    </div>
  )
}

/** The list of the pages in Settings. */
export function SettingsIndex() {
  useTitle(words.title)
  const me = useMe().data
  const mayNot = me !== undefined && !leads(me)
  return (
    <>
      <h2 className="sr-only">{words.title}</h2>
      <ul className="grid gap-3 sm:grid-cols-2">
        {parts.map(p => (
          <li key={p.id}>
            <Link className="hairline flex h-full gap-3 rounded-md p-3 hover:bg-hover" to={p.to}>
              <Icon className="mt-0.5 text-soft" name={p.icon} />
              <span className="min-w-0">
                <span className="block font-medium">{words.parts[p.id].name}</span>
                <span className="block text-soft">{words.parts[p.id].about}</span>
                {mayNot && !p.all && <span className="block text-attention text-xs">{words.leads}</span>}
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {me && !mayNot && (
        <Link className="hairline mt-3 flex gap-3 rounded-md p-3 hover:bg-hover" to="/welcome">
          <Icon className="mt-0.5 text-soft" name="check" />
          <span className="min-w-0">
            <span className="block font-medium">{words.firstSteps}</span>
            <span className="block text-soft">{words.firstStepsAbout}</span>
          </span>
        </Link>
      )}
    </>
  )
}
