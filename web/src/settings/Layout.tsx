import { Link, Outlet, useLocation } from '@tanstack/react-router'
import { settings as words } from '../texts/settings'
import { Icon, type IconName } from '../ui/Icon'
import { type Part, parts } from './parts'

/** The layout of Settings, with a menu beside the open page. On a phone the overview is the menu. */
export function SettingsLayout() {
  const path = useLocation({ select: l => l.pathname.replace(/\/$/, '') })
  return (
    <div className="md:flex">
      <nav aria-label={words.title} className="hidden w-48 shrink-0 self-start p-3 md:sticky md:top-0 md:block">
        <ul className="flex flex-col gap-0.5">
          <Entry icon="settings" name={words.overview} path={path} to="/settings" />
          {parts.map(p => (
            <Entry icon={p.icon} key={p.id} name={words.parts[p.id].name} path={path} to={p.to} />
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

function Entry({ to, path, icon, name }: { to: Part['to'] | '/settings'; path: string; icon: IconName; name: string }) {
  const here = path === to
  return (
    <li>
      <Link
        aria-current={here ? 'page' : undefined}
        className={`flex h-8 items-center gap-2.5 rounded-md px-2 ${here ? 'bg-accent-tint font-medium text-accent' : 'text-soft hover:bg-hover hover:text-ink'}`}
        to={to}
      >
        <Icon name={icon} />
        {name}
      </Link>
    </li>
  )
}
