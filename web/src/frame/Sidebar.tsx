import { Link, useLocation, useNavigate } from '@tanstack/react-router'
import { base } from '../app/base'
import { groups, type Place, places } from '../app/places'
import { texts } from '../texts'
import { Icon } from '../ui/Icon'
import { LazyMenu } from '../ui/LazyMenu'
import { BadgeMark, useBadges } from './badges'

const words = texts.app

function useHere(): (p: Place) => boolean {
  const path = useLocation({ select: l => l.pathname })
  return p => (p.path === '/' ? path === '/' : path === p.path || path.startsWith(`${p.path}/`))
}

/** The sidebar. It has labels on wide screens; phones have BottomBar instead. */
export function Sidebar() {
  const here = useHere()
  const badges = useBadges()
  return (
    <nav
      aria-label={words.nav}
      className="hidden w-12 shrink-0 flex-col overflow-y-auto border-line border-r bg-panel px-1.5 py-2 md:flex lg:w-44"
    >
      <p className="mb-2 flex h-8 items-center gap-2 px-2 font-semibold">
        <img alt="" className="size-5" src={`${base}/favicon.svg`} />
        <span className="hidden lg:inline">{words.name}</span>
      </p>
      {groups.map(group => (
        <ul
          key={group[0]?.id}
          className="mb-3 flex flex-col gap-0.5 border-line border-t pt-3 first-of-type:border-t-0 first-of-type:pt-0"
        >
          {group.map(p => (
            <li key={p.id}>
              <Link
                aria-current={here(p) ? 'page' : undefined}
                className={`relative flex h-8 items-center justify-center gap-2.5 rounded-md px-2 lg:justify-start ${here(p) ? 'bg-accent-tint font-medium text-accent' : 'text-soft hover:bg-hover hover:text-ink'}`}
                title={p.key ? `${words.places[p.id]} (g ${p.key})` : words.places[p.id]}
                to={p.path}
              >
                <Icon name={p.icon} />
                <span className="sr-only lg:not-sr-only">{words.places[p.id]}</span>
                <BadgeMark className="absolute top-0 right-0 lg:static lg:ml-auto" of={badges[p.id]} />
              </Link>
            </li>
          ))}
        </ul>
      ))}
    </nav>
  )
}

const onPhone = ['now', 'inbox', 'tasks', 'agents']

/** Navigation on a phone: four pages, and a menu with the others. */
export function BottomBar() {
  const here = useHere()
  const navigate = useNavigate()
  const cell = 'relative flex h-14 grow basis-0 flex-col items-center justify-center gap-0.5 text-xs'
  const rest = places.filter(p => !onPhone.includes(p.id))
  const badges = useBadges()
  const badge = 'absolute top-1 left-1/2 ml-1.5'
  const more = rest.find(p => badges[p.id])
  const open = rest.find(here)
  return (
    <nav
      aria-label={words.nav}
      className="flex shrink-0 border-line border-t bg-panel pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      {places
        .filter(p => onPhone.includes(p.id))
        .map(p => (
          <Link
            key={p.id}
            aria-current={here(p) ? 'page' : undefined}
            className={`${cell} ${here(p) ? 'text-accent' : 'text-soft'}`}
            to={p.path}
          >
            <Icon className="size-5" name={p.icon} />
            {words.places[p.id]}
            <BadgeMark className={badge} of={badges[p.id]} />
          </Link>
        ))}
      <LazyMenu
        groups={[
          {
            items: rest.map(p => ({
              id: p.id,
              label: words.places[p.id],
              icon: p.icon,
              checked: here(p),
              onSelect: () => void navigate({ to: p.path }),
            })),
          },
        ]}
        trigger={
          <button
            aria-label={open && `${words.more}: ${words.places[open.id]}`}
            className={`${cell} ${open ? 'text-accent' : 'text-soft'}`}
            type="button"
          >
            <Icon className="size-5" name="more" />
            {words.more}
            <BadgeMark className={badge} of={more && badges[more.id]} />
          </button>
        }
      />
    </nav>
  )
}
